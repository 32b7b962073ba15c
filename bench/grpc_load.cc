// Clients of a gRPC server, as 'shoal load' has them for HTTP: each has a connection of its own and
// sends its next request when it has an answer.
//
//   bench_grpc_load HOST:PORT MODEL CLIENTS SECONDS
//
// Prints one JSON object.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "inference.grpc.pb.h"
#include "shoal/base/timing/latency_recorder.h"

namespace {

using Clock = std::chrono::steady_clock;
using inference::GRPCInferenceService;

std::unique_ptr<GRPCInferenceService::Stub> connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // no connection in common
  return GRPCInferenceService::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

// One image of zeros.
bool make_request(const std::string& address, const std::string& model,
                  inference::ModelInferRequest& request) {
  inference::ModelMetadataRequest ask;
  inference::ModelMetadataResponse metadata;
  ask.set_name(model);
  grpc::ClientContext context;
  const auto status = connect(address)->ModelMetadata(&context, ask, &metadata);
  if (!status.ok() || metadata.inputs_size() != 1 || metadata.inputs(0).datatype() != "FP32") {
    std::fprintf(stderr, "no model of one FP32 input: %s\n", status.error_message().c_str());
    return false;
  }
  size_t count = 1;
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name(metadata.inputs(0).name());
  input.set_datatype("FP32");
  for (const int64_t size : metadata.inputs(0).shape()) {
    input.add_shape(size > 0 ? size : 1);
    count *= static_cast<size_t>(size > 0 ? size : 1);
  }
  request.add_raw_input_contents(std::string(count * sizeof(float), '\0'));
  return true;
}

struct Result {
  shoal::LatencyRecorder answered;
  size_t refused = 0, failed = 0;
};

void ask_until(Clock::time_point end, const std::string& address,
               const inference::ModelInferRequest& request, Result& result, std::mutex& mutex) {
  const auto stub = connect(address);
  while (Clock::now() < end) {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    const auto begin = Clock::now();
    const grpc::Status status = stub->ModelInfer(&context, request, &response);
    const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
    const std::scoped_lock lock(mutex);
    if (status.ok()) {
      result.answered.add(took.count());
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      ++result.refused;
    } else {
      ++result.failed;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s HOST:PORT MODEL CLIENTS SECONDS\n", argv[0]);
    return 2;
  }
  inference::ModelInferRequest request;
  if (!make_request(argv[1], argv[2], request)) return 1;
  Result result;
  std::mutex mutex;
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::atof(argv[4])));
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < std::atoi(argv[3]); ++i) {
      clients.emplace_back([&] { ask_until(end, argv[1], request, result, mutex); });
    }
  }
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  std::printf(
      "{\"answered_per_s\":%.1f,\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"refused\":%zu,\"failed\":%zu}\n",
      static_cast<double>(result.answered.count()) / seconds.count(), result.answered.quantile(0.5),
      result.answered.quantile(0.99), result.refused, result.failed);
  return 0;
}
