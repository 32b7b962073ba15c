#include "shoal/cluster/federated/client_session.h"

#include <bit>
#include <chrono>

#include "shoal/base/overloaded.h"
#include "shoal/base/timing/seconds_since.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::federated_cluster {
namespace {

using Clock = std::chrono::steady_clock;

Status broken(const char* what) { return Status(Code::kCorrupt, what); }

std::span<const uint8_t> as_words(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> as_bytes(const std::vector<uint8_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<std::unique_ptr<ClientSession>> ClientSession::create(Device& device,
                                                             const cluster::TrainingSetup& setup,
                                                             std::shared_ptr<const Dataset> data,
                                                             const ClientOptions& options) {
  if (data == nullptr || data->size() == 0) return invalid("there are no examples to learn from");
  // As the batches need it: one input [batch, ...], and scores of classes.
  SHOAL_TRY(cluster::types_of_examples(setup).status());
  const Graph& network = setup.network;
  const Shape& input = network[network.inputs()[0]].type.shape;
  const Shape& scores = network[network.outputs()[0]].type.shape;
  if (input.rank() < 2 || scores.rank() != 2 || input[0] < 1) {
    return invalid("only networks that score classes of images learn in federated rounds");
  }
  SHOAL_ASSIGN(federated::LocalTrainer trainer,
               federated::LocalTrainer::create(device, network, setup.trainer));
  return std::unique_ptr<ClientSession>(
      new ClientSession(setup, std::move(trainer), std::move(data), options));
}

Status ClientSession::handle(const cluster::TaskInput& input) {
  if (!input.header.empty()) return broken("examples for who has its own");
  return take_message(input.payload.bytes);
}

Status ClientSession::take_message(net::Bytes bytes) {
  SHOAL_ASSIGN(ToClient message, decode_for_client(bytes));
  return std::visit(Overloaded{[&](GoodbyeMessage&) {
                                 over_ = true;
                                 return Status();
                               },
                               [&](auto& m) { return take(std::move(m)); }},
                    message);
}

Status ClientSession::take(const RecipeMessage& message) {
  if (recipe_) return broken("a second recipe");
  recipe_ = message;
  say(JoinedMessage{static_cast<int64_t>(std::bit_ceil(data_->size()))});
  return {};
}

Status ClientSession::take(RoundMessage message) {
  if (!recipe_) return broken("a round before its recipe");
  if (options_.secret_only && !message.secret) {
    return Status(Code::kUnsupported, "it takes part in secure sums only");
  }
  const auto batch = static_cast<size_t>(network_[network_.inputs()[0]].type.shape[0]);
  const auto per_epoch = static_cast<int64_t>(federated::batches_per_epoch(data_->size(), batch));
  constexpr int64_t kMostSteps = int64_t{1} << 40;
  if (message.local_steps == 0 && message.epochs > kMostSteps / per_epoch) {
    return broken("a round of too many epochs");
  }
  const int64_t steps = message.local_steps > 0 ? message.local_steps : message.epochs * per_epoch;
  if (steps < 1) return broken("a round without steps");
  task_.emplace(Task{.round = std::move(message), .steps = steps});
  return task_->round.secret ? begin_secret(*task_) : begin_steps(*task_);
}

Status ClientSession::begin_secret(Task& task) {
  const auto begin = Clock::now();
  const SecretPart& part = *task.round.secret;
  if (part.options.length != vector_length(task.round.weights)) {
    return broken("a secure sum of another length than the weights have");
  }
  SHOAL_ASSIGN(secure_sum::Secret seed, secure_sum::fresh_secret());
  SHOAL_ASSIGN(task.secret, secure_sum::Client::create(part.options, part.id, seed));
  secure_sum::forget(seed);
  say(SecretReply{.round = task.round.round,
                  .seconds = seconds_since(begin),
                  .bytes = as_bytes(encode(task.secret->advertise()))});
  return {};
}

// Which message it is follows from those before.
Status ClientSession::take(const SecretMessage& message) {
  if (!task_ || message.round != task_->round.round) return {};  // of a round that it has left
  if (!task_->secret || task_->learns) return broken("a message of no secure sum");
  const auto begin = Clock::now();
  const std::span<const uint8_t> bytes = as_words(message.bytes);
  Task& task = *task_;
  SecretReply reply{.round = message.round};
  if (!task.has_shared) {
    SHOAL_ASSIGN(const secure_sum::NeighbourKeys keys, secure_sum::decode_neighbour_keys(bytes));
    SHOAL_ASSIGN(const secure_sum::SharedSecrets shared, task.secret->share(keys));
    reply.bytes = as_bytes(encode(shared));
    task.has_shared = true;
  } else if (!task.delivery) {
    SHOAL_ASSIGN(task.delivery, secure_sum::decode_delivery(bytes));
    return begin_steps(task);
  } else {
    SHOAL_ASSIGN(const secure_sum::UnmaskRequest request, secure_sum::decode_unmask_request(bytes));
    SHOAL_ASSIGN(const secure_sum::UnmaskAnswer revealed, task.secret->unmask(request));
    reply.bytes = as_bytes(encode(revealed));
  }
  reply.seconds = seconds_since(begin);
  say(reply);
  if (task.delivery) task_.reset();
  return {};
}

Status ClientSession::begin_steps(Task& task) {
  const RoundMessage& round = task.round;
  SHOAL_TRY(trainer_.begin(round.weights, {.steps = task.steps,
                                           .rate_factor = round.rate_factor,
                                           .mu = static_cast<float>(round.mu),
                                           .seed = round.seed}));
  task.batches = std::make_unique<Batches>(
      *data_, fit::images_for(network_, recipe_->preprocess),
      BatchOptions{.batch = static_cast<size_t>(network_[network_.inputs()[0]].type.shape[0]),
                   .seed = round.seed,
                   .shuffle = true,
                   .augment = recipe_->augment,
                   .classes = fit::classes_of(network_)});
  task.learns = true;
  return {};
}

Status ClientSession::work() {
  const Status done = trainer_.step(*task_->batches);
  if (done.code() == Code::kInvalidArgument) {
    give_up();
    return {};
  }
  SHOAL_TRY(done);
  return trainer_.steps() < task_->steps ? Status() : send_update(true);
}

Status ClientSession::take(const CallMessage& message) {
  if (!task_ || message.round != task_->round.round) return {};
  if (!message.wanted) {
    task_.reset();
    return {};
  }
  return task_->learns && trainer_.steps() > 0 ? send_update(false) : Status();
}

void ClientSession::give_up() {
  say(GaveUpMessage{task_->round.round});
  task_.reset();
}

Status ClientSession::send_update(bool complete) {
  Task& task = *task_;
  const RoundMessage& round = task.round;
  task.learns = false;
  const auto examples = static_cast<int64_t>(data_->size());
  if (!task.secret) {
    say(UpdateMessage{.round = round.round,
                      .examples = examples,
                      .steps = trainer_.steps(),
                      .complete = complete,
                      .loss = trainer_.mean_loss(),
                      .weights = trainer_.weights()});
    task_.reset();
    return {};
  }
  const auto begin = Clock::now();
  const Result<std::vector<uint32_t>> vector = vector_of(
      round.weights, {trainer_.weights(), examples}, trainer_.mean_loss(), round.secret->code);
  if (!vector.ok()) {
    give_up();
    return {};
  }
  SHOAL_ASSIGN(const secure_sum::MaskedVector masked, task.secret->mask(*task.delivery, *vector));
  say(SecretReply{.round = round.round,
                  .seconds = seconds_since(begin),
                  .complete = complete,
                  .bytes = as_bytes(encode(masked, round.secret->options))});
  return {};
}

cluster::BeginTask learn_from(std::shared_ptr<const Dataset> data, const ClientOptions& options) {
  return [data = std::move(data), options](
             Device& device, cluster::TaskInput input,
             size_t most_bytes) -> Result<std::unique_ptr<cluster::SideTask>> {
    SHOAL_ASSIGN(const cluster::TrainingSetup setup,
                 cluster::decode_setup(cluster::bytes_of(input.header), input.payload.bytes));
    input = {};
    if (data == nullptr) {
      return Status(Code::kUnsupported,
                    "it has no data of its own to learn from: it was started without data");
    }
    SHOAL_ASSIGN(std::unique_ptr<ClientSession> session,
                 ClientSession::create(device, setup, data, options));
    if (session->planned_bytes() > static_cast<int64_t>(most_bytes)) {
      return Status(Code::kExhausted, "no room for what a training step needs");
    }
    return std::unique_ptr<cluster::SideTask>(std::move(session));
  };
}

}  // namespace shoal::federated_cluster
