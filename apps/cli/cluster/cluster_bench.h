// shoal bench --cluster: a plan on real workers, beside the best of them alone and the prediction.
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
// --while-deploying: requests while the weights of another model are sent.
Outcome bench_deployment(const ClusterBenchFlags& flags);
// --survive R --stragglers TIMES: the gain from continuing with the first sufficient results, while
// one worker is slow.
Outcome bench_stragglers(const ClusterBenchFlags& flags);
// --survive R --verify P: the cost of checking requests for wrong results.
Outcome bench_verify(const ClusterBenchFlags& flags);
// --objective throughput: answers a second, with several requests in progress at once; with
// --balance, work is moved from an even division of layers while requests are answered.
Outcome bench_stream(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
