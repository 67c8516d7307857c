// `tally lab board`: several engines on the same weights; a file that remembers (M8, M12).
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "lab/def_bisect.h"
#include "lab/measuring.h"

namespace tally::lab {

struct BoardArgs {
  MeasureArgs measure;
  ShapeArgs shapes;
  std::vector<std::string> engines;  // "NAME=TARGET", or a target alone
  std::string file;                  // entries as JSON Lines; "": only this run
  bool show = false;                 // print the file, measure nothing
  int rounds = 6;
  int inner = 1;
};

inline constexpr int kStaleDays = 30;
inline constexpr size_t kBoardLinesMax = 100000;

// One line of the file: an engine on one test.
struct BoardEntry {
  std::string engine, target, test, weights_sha256, machine;  // machine: processor and cores
  std::string date;                                           // UTC, "2026-11-30T03:30:00Z"
  std::vector<double> samples;                                // tok/s
  bool lower_bound = false;
  Json provenance;
};
Json json_of(const BoardEntry& e);

// Entries of a file, in order; empty when there is none. Error (BadInput) with the line's number when it is no board
// file, or has more than kBoardLinesMax lines.
std::vector<BoardEntry> read_board(const std::string& path);
// Appends; Error (BadInput) when it cannot be written.
void append_board(const std::string& path, const std::vector<BoardEntry>& entries);

// Whole days between an entry's date and now; Error (BadInput) when the date is none.
int age_days(const std::string& date, std::time_t now);

// One block "board" per test, weights and machine, in the order of their first entries: the latest entry of each
// engine, best first, ties as ties, lower bounds with "≥", entries older than kStaleDays marked and ranked apart.
std::vector<Block> board_blocks(const std::vector<BoardEntry>& entries, std::time_t now);

// Measures all engines in alternated rounds, appends to the file, writes the blocks.
void run_board(const BoardArgs& args, Output& output);

}  // namespace tally::lab
