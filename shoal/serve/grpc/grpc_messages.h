// Converts messages of the protocol to the server's values, and back. Pure functions; parsed
// messages may be hostile.
#pragma once

#include <grpcpp/support/status.h>

#include <vector>

#include "inference.pb.h"
#include "shoal/base/status.h"
#include "shoal/serve/protocol/documents.h"
#include "shoal/serve/protocol/infer.h"

namespace shoal::grpc_door {

// Elements are in raw_input_contents, for all inputs, or in `contents`. Raw contents are moved out
// of the message, others copied. Fails with kInvalidArgument, and with kUnsupported for tensors of
// BYTES.
Result<serve::InferRequest> parse(inference::ModelInferRequest& message);

// Always with raw_output_contents, like Triton.
void print(const serve::InferResponse& response, inference::ModelInferResponse& message);
void print(const serve::ModelMetadata& metadata, inference::ModelMetadataResponse& message);
void print(const std::vector<serve::IndexEntry>& index,
           inference::RepositoryIndexResponse& message);
void print(const std::vector<serve::NamedStatistics>& statistics,
           inference::ModelStatisticsResponse& message);

::grpc::Status print(const Status& status);

}  // namespace shoal::grpc_door
