#include "app/download.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/cache.h"
#include "app/pull.h"
#include "app/sha256.h"
#include "base/error.h"
#include "base/rng.h"
#include "http_server.h"
#include "support.h"

namespace tally::app {
namespace {

namespace fs = std::filesystem;
using test::HttpServer;

std::string model_bytes(size_t size, uint64_t seed) {
  std::string bytes = "GGUF";
  for (size_t i = 4; i < size; ++i) bytes += static_cast<char>(random_u64(seed, i));
  return bytes;
}

std::string read(const fs::path& path) {
  const auto bytes = test::read_file(path);
  return {bytes.begin(), bytes.end()};
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class DownloadTest : public testing::Test {
 protected:
  Download request(const std::string& path = "/m.gguf") {
    Download d;
    d.url = server.url(path);
    d.target = folder.path() / "m.gguf";
    d.retry_pause_ms = 1;
    d.progress = ProgressMode::Off;
    return d;
  }
  ErrorCode error_of(const Download& d, const std::string& expected_text) {
    try {
      download(d);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(expected_text), std::string::npos) << e.what();
      return e.code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode::Internal;
  }
  // The folder holds the model and nothing else.
  void expect_only_model(const std::string& body) {
    EXPECT_EQ(read(folder.path() / "m.gguf"), body);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  }

  HttpServer server;
  test::TemporaryFolder folder;
};

TEST_F(DownloadTest, whole_file) {
  const std::string body = model_bytes(300000, 1);
  server.set({.body = body});
  download(request());
  expect_only_model(body);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(DownloadTest, resumes_after_cut_connections) {
  const std::string body = model_bytes(1000000, 2);
  server.set({.body = body, .cut_after = 300000, .n_cuts = 3});
  Download d = request();
  d.n_retries = 1;  // each try brings bytes, so three cuts in a row are not three failures
  download(d);
  expect_only_model(body);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0].find("Range"), std::string::npos);
  EXPECT_NE(requests[1].find("Range: bytes=300000-"), std::string::npos) << requests[1];
  EXPECT_NE(requests[1].find("If-Range: \"v1\""), std::string::npos) << requests[1];
  EXPECT_NE(requests[3].find("Range: bytes=900000-"), std::string::npos) << requests[3];
  EXPECT_EQ(server.n_body_bytes(), body.size());
}

TEST_F(DownloadTest, interrupted_file_stays_partial_and_is_continued) {
  const std::string body = model_bytes(1000000, 3);
  server.set({.body = body, .cut_after = 400000, .n_cuts = 1});
  Download d = request();
  d.n_retries = 0;
  EXPECT_EQ(error_of(d, "goes on from there"), ErrorCode::BadInput);
  EXPECT_FALSE(fs::exists(d.target));
  EXPECT_EQ(fs::file_size(partial_path(d.target)), 400000u);
  download(d);
  expect_only_model(body);
  EXPECT_EQ(server.n_body_bytes(), body.size());
}

TEST_F(DownloadTest, changed_file_starts_again) {
  const std::string old_body = model_bytes(1000000, 4);
  const std::string new_body = model_bytes(700000, 5);
  for (const bool check_if_range : {true, false}) {
    fs::remove(folder.path() / "m.gguf");
    server.set({.body = old_body, .cut_after = 400000, .n_cuts = 1});
    Download d = request();
    d.n_retries = 0;
    EXPECT_EQ(error_of(d, "goes on"), ErrorCode::BadInput);
    d.n_retries = 1;
    server.set({.body = new_body, .etag = "\"v2\"", .check_if_range = check_if_range});
    download(d);
    expect_only_model(new_body);
  }
}

TEST_F(DownloadTest, shorter_file_and_complete_partial) {
  const std::string body = model_bytes(500000, 6);
  const Download d = request();
  const std::string origin = d.url + "\n\"v1\"\n\n";
  write(partial_path(d.target), body);  // all bytes had come, but the rename had not
  write(validator_path(d.target), origin);
  server.set({.body = body});
  download(d);
  expect_only_model(body);
  EXPECT_EQ(server.n_body_bytes(), 0u);

  fs::remove(d.target);
  write(partial_path(d.target), model_bytes(900000, 7));
  write(validator_path(d.target), origin);
  download(d);
  expect_only_model(body);
}

TEST_F(DownloadTest, bytes_of_another_address_or_without_validator_are_not_continued) {
  const std::string body = model_bytes(500000, 8);
  server.set({.body = body, .etag = ""});
  const Download d = request();
  for (const std::string& origin : {std::string("http://elsewhere/m.gguf\n\"v1\"\n\n"), d.url + "\n\n\n"}) {
    write(partial_path(d.target), std::string(1000, 'x'));
    write(validator_path(d.target), origin);
    download(d);
    expect_only_model(body);
    fs::remove(d.target);
  }
}

TEST_F(DownloadTest, server_without_ranges) {
  const std::string body = model_bytes(500000, 9);
  server.set({.body = body, .ranges = false, .cut_after = 100000, .n_cuts = 1});
  download(request());
  expect_only_model(body);
}

TEST_F(DownloadTest, checksum) {
  const std::string body = model_bytes(200000, 10);
  write(folder.path() / "copy", body);
  const std::string sha256 = sha256_of_file(folder.path() / "copy");
  fs::remove(folder.path() / "copy");
  server.set({.body = body});
  Download d = request();
  d.sha256 = std::string(64, '0');
  EXPECT_EQ(error_of(d, "expected 0000"), ErrorCode::BadInput);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  d.sha256 = sha256;
  download(d);
  expect_only_model(body);
}

TEST_F(DownloadTest, checksum_named_by_the_hub) {
  const std::string body = model_bytes(200000, 11);
  const std::string wrong(64, 'a');
  server.set(
      {.body = body, .redirect = server.url("/m.gguf"), .redirect_headers = "X-Linked-ETag: \"" + wrong + "\"\r\n"});
  EXPECT_EQ(error_of(request("/redirect"), "expected aaaa"), ErrorCode::BadInput);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  server.set({.body = body, .redirect = server.url("/m.gguf")});
  download(request("/redirect"));
  expect_only_model(body);
}

TEST_F(DownloadTest, what_is_no_model_is_refused) {
  server.set({.body = "<html>please log in</html>"});
  EXPECT_EQ(error_of(request(), "not a GGUF file"), ErrorCode::BadInput);
  server.set({.body = ""});
  EXPECT_EQ(error_of(request(), "empty"), ErrorCode::BadInput);
  EXPECT_FALSE(fs::exists(folder.path() / "m.gguf"));
}

TEST_F(DownloadTest, server_errors) {
  server.set({.status = 404});
  EXPECT_EQ(error_of(request(), "the server answered 404"), ErrorCode::BadInput);
  EXPECT_EQ(server.requests().size(), 1u);  // not repeated
  const std::string body = model_bytes(1000, 12);
  server.set({.body = body, .n_unavailable = 2});
  download(request());
  expect_only_model(body);
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST_F(DownloadTest, other_protocols_are_refused) {
  Download d = request();
  write(folder.path() / "secret.gguf", model_bytes(100, 1));
  d.url = "file://" + (folder.path() / "secret.gguf").string();
  EXPECT_EQ(error_of(d, "http"), ErrorCode::BadInput);
  server.set({.redirect = d.url});
  EXPECT_THROW(download(request("/redirect")), Error);
  EXPECT_FALSE(fs::exists(d.target));
}

TEST_F(DownloadTest, stalled_transfer_is_given_up) {
  server.set({.body = model_bytes(1000000, 13), .pause_ms = 1500});
  Download d = request();
  d.stall_seconds = 1;
  d.n_retries = 0;
  EXPECT_EQ(error_of(d, "goes on from there"), ErrorCode::BadInput);
}

TEST_F(DownloadTest, folder_that_cannot_be_written) {
  server.set({.body = model_bytes(1000, 14)});
  Download d = request();
  d.target = "/dev/full/m.gguf";  // not a folder: nothing can be written there
  EXPECT_EQ(error_of(d, "cannot be written"), ErrorCode::BadInput);
}

TEST_F(DownloadTest, pull_through_hub_address_and_of_all_parts) {
  const std::string body = model_bytes(1000, 15);
  server.set({.body = body});
  PullSettings settings;
  settings.folder = folder.path() / "cache";
  settings.hub = server.url("");
  settings.progress = ProgressMode::Off;
  EXPECT_EQ(pull("hf:someone/model/deep/x-00001-of-00003.gguf", settings), settings.folder / "x-00001-of-00003.gguf");
  EXPECT_EQ(cached_models(settings.folder).size(), 3u);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[2].rfind("GET /someone/model/resolve/main/deep/x-00003-of-00003.gguf HTTP", 0), 0u) << requests[2];

  pull("hf:someone/model/deep/x-00001-of-00003.gguf", settings);  // all there: nothing is asked for
  EXPECT_EQ(server.requests().size(), 3u);
  settings.sha256 = std::string(64, '0');
  EXPECT_THROW(pull(server.url("/x-00002-of-00003.gguf"), settings), Error);
  EXPECT_THROW(pull(server.url("/x-00001-of-00003.gguf"), settings), Error);
}

}  // namespace
}  // namespace tally::app
