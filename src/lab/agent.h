// M21: a real task for an agent against a running server. The model is told to list the files of a folder, read one and
// sum it up in two bullets; the two tools run here. Each request is a turn of the definition.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/http.h"
#include "lab/output.h"

namespace tally::lab {

struct AgentArgs {
  std::string endpoint;  // http://HOST:PORT, options of the target `http` may follow
  std::string model;     // as the server calls it; "": its first
  int runs = 3;
  int words = 400;       // of the file that is to be read
  int max_tokens = 256;  // of one answer
  int max_turns = 6;
  double timeout_s = 600;
  std::optional<double> prefill_tok_s, decode_tok_s;  // measured on the endpoint where not given
  std::optional<double> reference_out;                // tokens that the length-normalised time assumes; default: median
};

struct AgentTurn {
  double wall_ms = 0, first_ms = 0;  // of the request; to its first token
  double tool_ms = 0;                // of the tools it asked for
  double tokens_in = 0, tokens_cached = 0, tokens_out = 0;
  std::vector<std::string> tools;  // called, by name
  std::string finish_reason;
};

struct AgentRun {
  std::vector<AgentTurn> turns;
  double wall_s = 0, tools_s = 0;
  std::string answer;
  int n_bullets = 0;
  bool listed = false, read = false;  // by the model's own calls
  std::string scripted;               // why the command supplied the file itself; empty: the model used the tools
  double tokens_in() const;           // without those that the server had already
  double tokens_out() const;
};

// The folder of the task: made in the temporary folder with three text files, removed at the end. What the tools can
// reach are the names of its files, looked up in a list; no path is ever put together from what a model says.
class SampleFolder {
 public:
  explicit SampleFolder(int words);
  ~SampleFolder();
  SampleFolder(const SampleFolder&) = delete;
  SampleFolder& operator=(const SampleFolder&) = delete;

  const std::string& wanted() const { return wanted_; }            // the file that is to be read
  std::string list() const;                                        // one name a line
  std::optional<std::string> read(const std::string& name) const;  // null: no such file here
  // A tool call's answer for the model; what is wrong with the call is said in it.
  std::string call(const std::string& tool, const std::string& arguments, AgentRun& run) const;

 private:
  std::filesystem::path path_;
  std::vector<std::string> names_;
  std::string wanted_;
};

// One task from the first request to the answer. Error (Failed) when the server fails or reports no usage. Each run has
// a line of its own at the head of the prompt, so that the server's prefix cache of an earlier run does not help.
AgentRun run_agent_task(HttpClient& client, const AgentArgs& args, const SampleFolder& folder, int number);

int count_bullets(const std::string& answer);  // lines that begin with -, *, • or a number and a point

// Measures rates (unless given), runs the task `runs` times, writes samples and the blocks "agent" and "agent_runs".
// A negative residual makes the block not valid and the exit status 1.
void run_agent(const AgentArgs& args, Output& output);

}  // namespace tally::lab
