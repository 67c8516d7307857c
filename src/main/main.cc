// tally: one program with subcommands. Errors become one message on standard error and the exit statuses of error.h.
#include <cstdio>

#include "app/exit_status.h"
#include "base/error.h"
#include "cli/command.h"
#include "lab/command.h"

int main(int argc, char** argv) {
  CLI::App app{"tally: an LLM inference engine that accounts for every millisecond"};
  app.footer(
      "exit status: 0 done; 1 the work itself found a failure; 2 wrong usage; 3 bad input file or unreadable data;\n"
      "4 not enough memory or device missing; 5 internal error; 130 interrupted");
  tally::cli::add_commands(app);
  tally::lab::add_lab(app);
  try {
    app.parse(argc, argv);
    return tally::app::exit_status();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : static_cast<int>(tally::ErrorCode::Usage);
  } catch (const tally::Error& e) {
    std::fprintf(stderr, "tally: %s\n", e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tally: out of memory\n");
    return static_cast<int>(tally::ErrorCode::Resources);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tally: internal error: %s\n", e.what());
    return static_cast<int>(tally::ErrorCode::Internal);
  }
}
