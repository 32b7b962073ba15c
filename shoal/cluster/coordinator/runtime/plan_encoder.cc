#include "shoal/cluster/coordinator/runtime/plan_encoder.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/tasks/deployment.h"
#include "shoal/cluster/tasks/task_code.h"

namespace shoal::cluster {

namespace {

std::set<int> senders_to(const plan::Schedule& schedule, int worker) {
  std::set<int> senders;
  for (const plan::Transfer& transfer : schedule.transfers) {
    const bool by_worker = transfer.from != plan::kCoordinator && transfer.from != worker;
    if (transfer.to == worker && by_worker) senders.insert(transfer.from);
  }
  return senders;
}

}  // namespace

// A worker is sent only its own tasks, the addresses of the workers it sends to and the names of
// those that send to it.
Status PlanEncoder::encode_for(int worker, const std::vector<WorkerInfo>& infos,
                               message::Assignment& assignment) {
  std::set<int> peers;
  for (size_t s = 0; s < scheduled_.plan().segments.size(); ++s) {
    const auto& tasks = scheduled_.plan().segments[s].tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      if (tasks[t].worker != worker) continue;
      SHOAL_TRY(encode_task(s, t, *assignment.add_tasks(), peers));
    }
  }
  for (int peer : peers) {
    message::Peer& to = *assignment.add_peers();
    to.set_worker(peer);
    to.set_address(infos[static_cast<size_t>(peer)].address);
    to.set_name(infos[static_cast<size_t>(peer)].name);
  }
  for (int sender : senders_to(scheduled_.schedule(), worker)) {
    assignment.add_senders(infos[static_cast<size_t>(sender)].name);
  }
  assignment.set_survives(scheduled_.plan().survives > 0);
  assignment.set_wait_ms(
      static_cast<uint32_t>(std::clamp(scheduled_.plan().wait_seconds * 1e3, 0.0, 1e9)));
  return {};
}

Status PlanEncoder::encode_task(size_t segment, size_t task, message::Task& to,
                                std::set<int>& peers) {
  const plan::Part& part = scheduled_.schedule().parts[segment][task];
  const int worker = scheduled_.plan().segments[segment].tasks[task].worker;
  SHOAL_ASSIGN(const Graph graph, plan::to_graph(scheduled_.graph(), part));
  encode(graph, *to.mutable_graph(), [&](const Tensor& weight) { return name_of(weight); });
  for (const plan::Piece& piece : part.inputs) encode(piece, *to.add_inputs());
  for (const plan::Piece& piece : part.outputs) encode(piece, *to.add_outputs());
  for (const plan::CodeRead& read : scheduled_.schedule().code_reads[segment][task]) {
    encode(task_code(scheduled_.graph(), scheduled_.plan(), read), *to.add_codes());
  }
  for (const SendOrder& send : sends_of(scheduled_.schedule(), part, worker)) {
    message::Send& order = *to.add_sends();
    encode(send.piece, *order.mutable_piece());
    order.set_to(send.to);
    if (send.to != plan::kCoordinator) peers.insert(send.to);
  }
  return {};
}

Hash PlanEncoder::name_of(const Tensor& weight) {
  const auto bytes = weight.bytes();
  const auto [it, is_new] = named_.try_emplace({bytes.data(), bytes.size()}, weight, Hash());
  Hash& hash = it->second.second;
  if (!is_new) return hash;
  // Hashing takes longer than all else in encoding; the map by address saves it for shared weights.
  hash = hash_of(bytes);
  weights_.emplace(hash, weight);
  return hash;
}

}  // namespace shoal::cluster
