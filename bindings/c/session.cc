// Sessions and their answers for C.
#include <chrono>
#include <cmath>

#include "handles.h"

namespace shoal::c {
namespace {

Status open_session(const shoal_model* model, const shoal_device* device, shoal_session** out) {
  SHOAL_TRY(require(model, "model"));
  SHOAL_TRY(require(out, "out"));
  // The session keeps the device, so that the handles may be freed in any order.
  std::shared_ptr<Device> on = device_or_cpu(device);
  SHOAL_ASSIGN(Session session, model->model.session(*on));
  *out = new shoal_session{std::move(on), std::move(session)};
  return {};
}

Result<Session::Tensors> named_tensors(size_t count, const char* const* names,
                                       const shoal_tensor* const* tensors) {
  Session::Tensors inputs;
  if (count > 0) {
    SHOAL_TRY(require(names, "names"));
    SHOAL_TRY(require(tensors, "tensors"));
  }
  for (size_t i = 0; i < count; ++i) {
    SHOAL_TRY(require(names[i], "a name"));
    SHOAL_TRY(require(tensors[i], "a tensor"));
    // The second tensor of a name would be dropped without a word.
    if (!inputs.emplace(names[i], tensors[i]->tensor).second) {
      return invalid("input " + std::string(names[i]) + " is given twice");
    }
  }
  return inputs;
}

// The timeout counts from here on, so that the checks of inputs are part of it.
Result<RequestOptions> request_options(const shoal_run_options* given) {
  SHOAL_ASSIGN(const auto options, read_options<shoal_run_options>(given, SHOAL_RUN_OPTIONS_INIT));
  constexpr double kLongest = 1e9;  // seconds: further deadlines would overflow the clock
  // The comparison is false for NaN, too.
  if (!(options.timeout_seconds >= 0)) return invalid("timeout_seconds is negative or no number");
  RequestOptions request;
  if (options.timeout_seconds > 0 && options.timeout_seconds < kLongest) {
    request.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::duration<double>(options.timeout_seconds));
  }
  if (options.cancel != nullptr) request.cancel = options.cancel->source.get_token();
  return request;
}

Status run(shoal_session* session, size_t count, const char* const* names,
           const shoal_tensor* const* tensors, const shoal_run_options* options,
           shoal_result** out) {
  SHOAL_TRY(require(session, "session"));
  SHOAL_TRY(require(out, "out"));
  SHOAL_ASSIGN(const RequestOptions request, request_options(options));
  SHOAL_ASSIGN(const Session::Tensors inputs, named_tensors(count, names, tensors));
  SHOAL_ASSIGN(Session::Tensors outputs, session->session.run(inputs, request));
  auto result = std::make_unique<shoal_result>();
  // In the order of the model, which a map does not have.
  for (const std::string& name : session->session.outputs()) {
    result->outputs.emplace_back(name, shoal_tensor{outputs.at(name)});
  }
  *out = result.release();
  return {};
}

Status prepare(shoal_session* session) {
  SHOAL_TRY(require(session, "session"));
  return session->session.prepare();
}

Status create_cancel(shoal_cancel** out) {
  SHOAL_TRY(require(out, "out"));
  *out = new shoal_cancel;
  return {};
}

}  // namespace
}  // namespace shoal::c

shoal_status* shoal_session_open(const shoal_model* model, shoal_device* device,
                                 shoal_session** out) {
  return shoal::c::guarded([&] { return shoal::c::open_session(model, device, out); });
}

shoal_status* shoal_session_prepare(shoal_session* session) {
  return shoal::c::guarded([&] { return shoal::c::prepare(session); });
}

shoal_status* shoal_session_run(shoal_session* session, size_t count, const char* const* names,
                                const shoal_tensor* const* tensors,
                                const shoal_run_options* options, shoal_result** out) {
  return shoal::c::guarded(
      [&] { return shoal::c::run(session, count, names, tensors, options, out); });
}

void shoal_session_free(shoal_session* session) { delete session; }

size_t shoal_result_count(const shoal_result* result) {
  return result == nullptr ? 0 : result->outputs.size();
}

const char* shoal_result_name(const shoal_result* result, size_t index) {
  return index < shoal_result_count(result) ? result->outputs[index].first.c_str() : nullptr;
}

const shoal_tensor* shoal_result_tensor(const shoal_result* result, size_t index) {
  return index < shoal_result_count(result) ? &result->outputs[index].second : nullptr;
}

void shoal_result_free(shoal_result* result) { delete result; }

shoal_status* shoal_cancel_create(shoal_cancel** out) {
  return shoal::c::guarded([&] { return shoal::c::create_cancel(out); });
}

void shoal_cancel_request(shoal_cancel* cancel) {
  if (cancel != nullptr) cancel->source.request_stop();
}

void shoal_cancel_free(shoal_cancel* cancel) { delete cancel; }
