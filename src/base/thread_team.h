// A fixed team of threads that runs one body on all workers (SPMD) with a barrier inside: spins a short while, then
// parks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace tally {

class ThreadTeam {
 public:
  explicit ThreadTeam(int n_workers);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return n_workers_; }

  // Runs body(worker) for every worker in [0, size()); the caller is worker 0. Returns when all are done. The body must
  // not throw. Not reentrant.
  void run(const std::function<void(int worker)>& body);

  // Inside a body: waits until all workers have arrived. Every worker must make the same sequence of calls.
  void barrier() noexcept;

 private:
  void work(int worker);
  void wait_while_equal(const std::atomic<uint32_t>& value, uint32_t old) const noexcept;

  int n_workers_;
  const std::function<void(int)>* body_ = nullptr;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> run_generation_{0};
  alignas(64) std::atomic<int> n_running_{0};
  alignas(64) std::atomic<uint32_t> n_done_generation_{0};
  alignas(64) std::atomic<int> n_arrived_{0};
  alignas(64) std::atomic<uint32_t> barrier_generation_{0};
  std::vector<std::thread> threads_;
};

// Physical cores that this process may use: its affinity mask, without hyper-thread siblings, within the cgroup's CPU
// quota.
int available_cores();

}  // namespace tally
