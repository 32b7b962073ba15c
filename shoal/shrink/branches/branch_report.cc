#include "shoal/shrink/branches/branch_report.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "shoal/shrink/branches/branch_networks.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::branch {
namespace {

constexpr std::string_view kAuto = "auto";
constexpr size_t kMostTried = 64;  // branches that `auto` tries

template <class T>
Result<T> number_in(std::string_view text, const std::string& setting, const std::string& what) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stopped == end) return number;
  return invalid(setting + " takes " + what + ", not " + std::string(text));
}

Result<std::vector<double>> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    SHOAL_ASSIGN(numbers.emplace_back(),
                 number_in<double>(text.substr(begin, end - begin), "widths",
                                   "numbers such as 1,2,4, or auto"));
    begin = end + 1;
  }
  return numbers;
}

// What a cluster has no memory for may still be branched.
Status predict_times(const Graph& graph, const BranchOptions& options,
                     const ClusterFor& cluster_for, BranchReport& report) {
  SHOAL_ASSIGN(const Branched made, make_branches(graph, options));
  SHOAL_ASSIGN(const plan::ClusterProfile cluster, cluster_for(report.branches));
  auto times = compare(graph, made.graph, cluster);
  if (times.ok()) {
    report.times = *std::move(times);
  } else {
    report.no_times = std::string(times.status().message());
  }
  return {};
}

}  // namespace

Result<std::vector<double>> widths_of(const BranchWords& words, const Graph& graph, double fattened,
                                      const ClusterFor& cluster_for) {
  if (words.widths == kAuto) {
    SHOAL_ASSIGN(const plan::ClusterProfile all, cluster_for(2));
    return widths_for(graph, all, fattened);
  }
  if (!words.widths.empty()) return numbers_in(words.widths);
  size_t count = 0;
  if (words.branches == kAuto) {
    SHOAL_ASSIGN(const plan::ClusterProfile all, cluster_for(kMostTried));
    SHOAL_ASSIGN(count, fewest_branches(graph, all, fattened, kMostTried));
    if (count == 1) {
      return invalid("one worker has the memory for the whole network: say how many branches");
    }
  } else {
    SHOAL_ASSIGN(count, number_in<size_t>(words.branches, "branches", "a number, or auto"));
  }
  if (count > kMostBranches) return invalid("branches is out of range");
  return equal_widths(count);
}

Status set_fatten(const std::string& text, double max_drop, LearnOptions& options) {
  if (text == kAuto) {
    options.max_drop = max_drop;
    return {};
  }
  SHOAL_ASSIGN(options.branches.fatten,
               number_in<double>(text, "fatten", "a number of percent, or auto"));
  return {};
}

Result<BranchReport> report_branches(Device& device, const Model& model, LearnOptions options,
                                     const BranchWords& words, const ClusterFor& cluster_for,
                                     const std::function<Result<fit::JudgedData>()>& open_data,
                                     const LearnCallbacks& callbacks) {
  const fit::NetworkForBatch given = shrink::as_given(model);
  SHOAL_ASSIGN(const LoadedGraph one, given(1));
  BranchOptions& branches = options.branches;
  SHOAL_ASSIGN(branches.widths, widths_of(words, one.graph, branches.fatten, cluster_for));
  BranchReport report{.branches = branches.widths.size()};
  if (open_data) {
    SHOAL_ASSIGN(const fit::JudgedData data, open_data());
    SHOAL_ASSIGN(report.learned, learn_branches(device, model, data, options, callbacks));
    report.sizes = report.learned->sizes;
    branches.fatten = report.sizes.fatten;
  } else {
    SHOAL_ASSIGN(report.sizes, sizes_of(one.graph, branches));
    if (!options.out.empty()) {
      SHOAL_TRY(fit::export_network(in_branches(given, branches), options.out));
    }
  }
  SHOAL_TRY(predict_times(one.graph, branches, cluster_for, report));
  return report;
}

}  // namespace shoal::branch
