#include "lab/energy.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "lab/machine.h"

namespace tally::lab {

namespace fs = std::filesystem;

// A counter of joules that may wrap at a known value.
struct EnergyMeter::Source {
  std::string name;
  double wrap = 0;  // joules; 0: does not wrap
  virtual ~Source() = default;
  virtual std::optional<double> joules() = 0;
};

namespace {

std::string word_in(const fs::path& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

// NVML's few functions that we call (nvml.h, NVIDIA Management Library API reference); loaded from the driver.
struct Nvml {
  using Device = void*;
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*energy_mj)(Device, unsigned long long*) = nullptr;

  template <typename F>
  void find(F& function, const char* symbol) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
  }
  Nvml() {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    find(init, "nvmlInit_v2"), find(count, "nvmlDeviceGetCount_v2"), find(device, "nvmlDeviceGetHandleByIndex_v2");
    find(name, "nvmlDeviceGetName"), find(energy_mj, "nvmlDeviceGetTotalEnergyConsumption");
  }
  bool works() const { return init && count && device && name && energy_mj && init() == 0; }
};

Nvml& nvml() {
  static Nvml library;  // stays loaded
  return library;
}

constexpr const char* kNoRapl = "no /sys/class/powercap (a virtual machine or another kind of processor)";

}  // namespace

// Reads all counters at intervals and adds up what they moved.
struct EnergyMeter::Sampler {
  std::vector<std::unique_ptr<Source>>& sources;
  std::vector<double> last, sum;
  std::vector<def::PowerSample> samples;
  uint64_t begin_ns = 0, last_ns = 0;
  std::mutex mutex;
  std::condition_variable wake;
  bool stop = false;
  std::thread thread;

  explicit Sampler(std::vector<std::unique_ptr<Source>>& s) : sources(s), last(s.size()), sum(s.size()) {
    for (size_t i = 0; i < sources.size(); ++i) last[i] = sources[i]->joules().value_or(0);
    begin_ns = last_ns = now_ns();
    thread = std::thread([this] {
      std::unique_lock lock(mutex);
      while (!wake.wait_for(lock, std::chrono::milliseconds(250), [this] { return stop; })) read();
    });
  }
  ~Sampler() { end(); }
  void end() {
    if (!thread.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_one();
    thread.join();
    read();
  }
  void read() {
    double moved = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
      double now = sources[i]->joules().value_or(last[i]);
      double delta = now >= last[i] ? now - last[i] : now - last[i] + sources[i]->wrap;
      last[i] = now;
      sum[i] += std::max(delta, 0.0), moved += std::max(delta, 0.0);
    }
    uint64_t t = now_ns();
    if (t > last_ns) samples.push_back({double(t - begin_ns) / 1e9, moved / (double(t - last_ns) / 1e9)});
    last_ns = t;
  }
};

EnergyMeter::EnergyMeter(const std::string& root) {
  struct Rapl : Source {
    fs::path file;
    std::optional<double> joules() override {
      auto uj = number_in(file);
      return uj ? std::optional(*uj / 1e6) : std::nullopt;
    }
  };
  struct Card : Source {
    Nvml::Device device = nullptr;
    std::optional<double> joules() override {
      unsigned long long mj = 0;
      return nvml().energy_mj(device, &mj) == 0 ? std::optional(double(mj) / 1e3) : std::nullopt;
    }
  };
  fs::path powercap = root + "/sys/class/powercap";
  std::error_code error;
  why_not_ = kNoRapl;
  for (fs::directory_iterator it(powercap, error), end; !error && it != end; it.increment(error)) {
    std::string name = word_in(it->path() / "name");
    if (name.rfind("package", 0) != 0) continue;  // its parts (core, dram of old chips) are counted in it
    auto source = std::make_unique<Rapl>();
    source->name = name + " (RAPL)", source->file = it->path() / "energy_uj";
    source->wrap = number_in(it->path() / "max_energy_range_uj").value_or(0) / 1e6;
    if (source->joules()) {
      sources_.push_back(std::move(source));
    } else {
      why_not_ = fmt::format("{}: cannot be read (it needs root)", source->file.string());
    }
  }
  if (root.empty() && nvml().works()) {
    unsigned n = 0;
    nvml().count(&n);
    for (unsigned i = 0; i < n; ++i) {
      auto card = std::make_unique<Card>();
      char name[96] = "";
      if (nvml().device(i, &card->device) != 0) continue;
      nvml().name(card->device, name, sizeof name);
      card->name = fmt::format("{} (NVML)", name);
      if (card->joules()) sources_.push_back(std::move(card));
    }
  }
  std::sort(sources_.begin(), sources_.end(), [](const auto& a, const auto& b) { return a->name < b->name; });
  if (!sources_.empty()) why_not_.clear();
}

EnergyMeter::~EnergyMeter() = default;

std::vector<std::string> EnergyMeter::sources() const {
  std::vector<std::string> names;
  for (const auto& s : sources_) names.push_back(s->name);
  return names;
}

void EnergyMeter::start() {
  if (!sources_.empty()) sampler_ = std::make_unique<Sampler>(sources_);
}

EnergyMeter::Reading EnergyMeter::stop() {
  Reading r;
  if (!sampler_) return r;
  sampler_->end();
  r.seconds = double(sampler_->last_ns - sampler_->begin_ns) / 1e9;
  r.joules_of = sampler_->sum;
  for (double j : r.joules_of) r.joules += j;
  r.samples = std::move(sampler_->samples);
  sampler_.reset();
  return r;
}

}  // namespace tally::lab
