#include "lab/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"

extern char** environ;

namespace tally::lab {

namespace {

constexpr size_t kErrMax = 4096;

std::atomic<pid_t> g_group = 0;  // for the signal handler
volatile sig_atomic_t g_signal = 0;

void on_signal(int signal) {
  g_signal = signal;
  pid_t group = g_group.load();
  if (group > 0) kill(-group, SIGKILL);
}

// SIGINT and SIGTERM end the child's group while this lives; afterwards the earlier handlers are back.
class Guard {
 public:
  Guard() {
    g_signal = 0;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~Guard() {
    pid_t group = g_group.exchange(0);
    if (group > 0 && !reaped_) {
      kill(-group, SIGKILL);
      while (waitpid(group, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  void reaped() { reaped_ = true; }

 private:
  struct sigaction old_int_ {
  }, old_term_{};
  bool reaped_ = false;
};

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) fail(ErrorCode::Resources, "no pipe to a child process: {}", std::strerror(errno));
    read = fd[0], write = fd[1];
    fcntl(read, F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_write();
    if (read >= 0) ::close(read);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write() {
    if (write >= 0) ::close(write);
    write = -1;
  }
  void close_read() {
    ::close(read);
    read = -1;
  }
};

pid_t start(const std::vector<std::string>& argv, const Pipe& out, const Pipe& err) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  CHECK(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  int error = posix_spawnp(&child, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(ErrorCode::BadInput, "{}: cannot be started: {}", argv[0], std::strerror(error));
  return child;
}

// Takes what is there; closes the pipe at its end.
void take(Pipe& pipe, std::string& text, size_t max, bool keep_end, const std::string& program) {
  char buffer[65536];
  for (;;) {
    ssize_t n = ::read(pipe.read, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // nothing now
    if (n == 0) return pipe.close_read();
    text.append(buffer, size_t(n));
    if (text.size() <= max) continue;
    if (!keep_end) fail(ErrorCode::BadInput, "{}: printed more than {} bytes; that is no result", program, max);
    text.erase(0, text.size() - max);
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, const ChildOptions& options) {
  if (argv.empty() || argv[0].empty()) fail(ErrorCode::Usage, "a command to run is empty");
  Pipe out, err;
  Guard guard;
  ChildResult r;
  uint64_t begin = now_ns();
  pid_t child = start(argv, out, err);
  g_group = child;
  out.close_write();
  err.close_write();
  int status = 0;
  bool ended = false;
  while (!ended) {
    pollfd fds[2] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};  // a closed one is −1 and ignored
    bool any = out.read >= 0 || err.read >= 0;
    if (any) {
      poll(fds, 2, 50);
    } else {
      timespec pause{0, 200'000};
      nanosleep(&pause, nullptr);
    }
    if (out.read >= 0) take(out, r.out, options.max_output, false, argv[0]);
    if (err.read >= 0) take(err, r.err, kErrMax, true, argv[0]);
    if (g_signal) fail(ErrorCode::Interrupted, "interrupted; {} was ended", argv[0]);
    ended = waitpid(child, &status, WNOHANG) == child;
    if (!ended && double(now_ns() - begin) > options.timeout_s * 1e9)
      fail(ErrorCode::Failed, "{}: not finished after {:.0f} s and ended; --timeout allows more", argv[0],
           options.timeout_s);
  }
  r.wall_ms = double(now_ns() - begin) / 1e6;
  guard.reaped();
  if (out.read >= 0) take(out, r.out, options.max_output, false, argv[0]);
  if (err.read >= 0) take(err, r.err, kErrMax, true, argv[0]);
  if (g_signal) fail(ErrorCode::Interrupted, "interrupted; {} was ended", argv[0]);
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return r;
}

ChildResult run_child_ok(const std::vector<std::string>& argv, const ChildOptions& options) {
  ChildResult r = run_child(argv, options);
  if (r.status != 0)
    fail(ErrorCode::Failed, "{}: ended with status {}; its last words: {}", fmt::join(argv, " "), r.status,
         r.err.empty() ? "(none)" : r.err);
  return r;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  bool open = false;  // a word has begun
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (quote && c == quote) {
      quote = 0;
    } else if (!quote && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote) fail(ErrorCode::Usage, "\"{}\": a quote ({}) does not end", text, quote);
  return words;
}

}  // namespace tally::lab
