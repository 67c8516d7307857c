#include "base/thread_team.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tally {
namespace {

// Plain integers, so that a missing synchronisation is a data race that the thread sanitizer reports.
TEST(ThreadTeam, every_worker_runs_once_and_the_caller_sees_its_work) {
  for (const int n : {1, 2, 3, 8}) {
    ThreadTeam team(n);
    EXPECT_EQ(team.size(), n);
    std::vector<int> n_calls(static_cast<size_t>(n));
    for (int run = 1; run <= 200; ++run) {
      team.run([&](int worker) { ++n_calls[static_cast<size_t>(worker)]; });
      ASSERT_EQ(n_calls, std::vector<int>(static_cast<size_t>(n), run));
    }
  }
}

TEST(ThreadTeam, barrier_makes_each_worker_see_all_others) {
  constexpr int kWorkers = 4;
  constexpr int kRounds = 300;
  ThreadTeam team(kWorkers);
  std::vector<int> values(kWorkers, 0);
  std::vector<int> n_wrong(kWorkers, 0);
  team.run([&](int worker) {
    for (int round = 1; round <= kRounds; ++round) {
      values[static_cast<size_t>(worker)] = round;
      team.barrier();
      const int sum = std::accumulate(values.begin(), values.end(), 0);
      if (sum != round * kWorkers) ++n_wrong[static_cast<size_t>(worker)];
      team.barrier();  // nobody writes the next round before all have read this one
    }
  });
  EXPECT_EQ(n_wrong, std::vector<int>(kWorkers, 0));
}

TEST(ThreadTeam, parked_workers_wake_up) {
  ThreadTeam team(3);
  std::vector<int> n_calls(3);
  for (int run = 0; run < 3; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // far longer than the team spins
    team.run([&](int worker) {
      if (worker == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      team.barrier();
      ++n_calls[static_cast<size_t>(worker)];
    });
  }
  EXPECT_EQ(n_calls, std::vector<int>({3, 3, 3}));
}

TEST(ThreadTeam, is_made_and_ended_without_a_run) {
  for (int i = 0; i < 20; ++i) ThreadTeam team(4);
}

TEST(ThreadTeam, available_cores_is_within_the_affinity_mask) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace tally
