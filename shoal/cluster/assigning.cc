#include "shoal/cluster/assigning.h"

#include <algorithm>

#include "messages.pb.h"

namespace shoal::cluster {

Status Assigning::encode_for(int worker, const std::vector<WorkerInfo>& infos,
                             message::Assignment& assignment) {
  std::set<int> peers;
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    const auto& tasks = plan_.segments[s].tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      if (tasks[t].worker != worker) continue;
      SHOAL_TRY(encode_task(schedule_.parts[s][t], worker, *assignment.add_tasks(), peers));
    }
  }
  for (int peer : peers) {
    message::Peer& to = *assignment.add_peers();
    to.set_worker(peer);
    to.set_address(infos[static_cast<size_t>(peer)].address);
  }
  assignment.set_survives(plan_.survives > 0);
  return {};
}

Status Assigning::encode_task(const plan::Part& part, int worker, message::Task& to,
                              std::set<int>& peers) {
  SHOAL_ASSIGN(const Graph graph, plan::to_graph(graph_, part));
  encode(graph, *to.mutable_graph(),
         [&](const Hash& hash, const Tensor& tensor) { weights_.emplace(hash, tensor); });
  for (const plan::Piece& piece : part.inputs) encode(piece, *to.add_inputs());
  for (const plan::Piece& piece : part.outputs) encode(piece, *to.add_outputs());
  for (const plan::Transfer& transfer : schedule_.transfers) {
    const bool mine =
        transfer.from == worker &&
        std::ranges::any_of(part.outputs, [&](const plan::Piece& output) {
          return output.value == transfer.piece.value &&
                 plan::intersection(output.region, transfer.piece.region) == transfer.piece.region;
        });
    if (!mine) continue;
    message::Send& order = *to.add_sends();
    encode(transfer.piece, *order.mutable_piece());
    order.set_to(transfer.to);
    if (transfer.to != plan::kCoordinator) peers.insert(transfer.to);
  }
  return {};
}

}  // namespace shoal::cluster
