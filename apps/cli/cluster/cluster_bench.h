// shoal bench --cluster: a plan on real workers, beside the best of them alone and beside what was
// predicted.
#pragma once

#include "../cli.h"
#include "../planning.h"

namespace shoal::cli {

struct ClusterBenchFlags {
  PlanFlags plan;
  double seconds = 3;
  bool json = false;
  std::string html;  // a file for a picture of what was measured
  bool balance = false;
  double stragglers = 1;  // times that one worker, another for every request, is slower
  bool strict = false;    // fail where emulated devices were late, and do not adapt the dilation
  std::string deployed = {};  // a model that is deployed while this one answers
};

Outcome bench_cluster(const ClusterBenchFlags& flags);
// --while-deploying: requests while the weights of another model travel.
Outcome bench_deployment(const ClusterBenchFlags& flags);
// --survive R --stragglers TIMES: what it saves to go on with the first that are enough, where one
// worker is slow.
Outcome bench_stragglers(const ClusterBenchFlags& flags);
// --survive R --verify P: what it costs to check requests for wrong results.
Outcome bench_verify(const ClusterBenchFlags& flags);
// --objective throughput: how many answers a second, with several requests on their way at once;
// with --balance, from layers dealt out evenly work is moved while requests are answered.
Outcome bench_stream(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
