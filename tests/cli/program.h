// Running the program itself, as a script would.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support.h"

extern char** environ;

namespace tally::test {

// One run of the built program with its own cache folder; standard output and error go to files.
class Program {
 public:
  // `environment`: NAME=VALUE, in place of the inherited ones.
  Program(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> words = {TALLY_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings = environment;
    for (char** e = environ; *e != nullptr; ++e) {
      const size_t n = std::strcspn(*e, "=") + 1;
      bool replaced = false;
      for (const std::string& own : environment) replaced |= own.compare(0, n, *e, n) == 0;
      if (!replaced) settings.emplace_back(*e);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, folder_.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, folder_.file("err").c_str(), O_WRONLY | O_CREAT, 0600);
    const int error =
        posix_spawn(&child_, TALLY_PROGRAM, &actions, nullptr, pointers(words).data(), pointers(settings).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error(std::string("cannot start " TALLY_PROGRAM ": ") + std::strerror(error));
  }
  ~Program() {
    if (child_ > 0) kill_and_wait(SIGKILL);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Exit status, or 128 + signal.
  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int kill_and_wait(int signal) {
    ::kill(child_, signal);
    return wait();
  }
  std::string out() const { return text("out"); }
  std::string err() const { return text("err"); }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (std::string& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
  }
  std::string text(const std::string& name) const {
    const auto bytes = read_file(folder_.file(name));
    return {bytes.begin(), bytes.end()};
  }

  TemporaryFolder folder_;
  pid_t child_ = 0;
};

}  // namespace tally::test
