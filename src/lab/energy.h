// Energy of a measurement: counters of the processor (RAPL) and of NVIDIA cards (NVML), where the machine lets us read
// them. Loaded at run time; no dependency.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lab/def_thermal.h"
#include "lab/output.h"

namespace tally::lab {

class EnergyMeter {
 public:
  // Looks for counters. root: "" but for tests; then NVML is left out.
  explicit EnergyMeter(const std::string& root = "");
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // What is counted: "package-0 (RAPL)", "NVIDIA H200 (NVML)". Empty: nothing, and why_not() says why.
  std::vector<std::string> sources() const;
  const std::string& why_not() const { return why_not_; }

  // Between start() and stop() a thread reads the counters four times a second, so that they cannot wrap unseen.
  void start();
  struct Reading {
    double seconds = 0, joules = 0;  // of all sources together
    std::vector<double> joules_of;   // [sources]
    double watts() const { return seconds > 0 ? joules / seconds : 0; }
    std::vector<def::PowerSample> samples;  // power between two readings, at the end of each
  };
  Reading stop();

 private:
  struct Source;
  struct Sampler;
  std::vector<std::unique_ptr<Source>> sources_;
  std::unique_ptr<Sampler> sampler_;
  std::string why_not_;
};

}  // namespace tally::lab
