// Status and Result<T>: the only way a failure travels in this code base.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace shoal {

enum class Code : uint8_t {
  kOk,
  kInvalidArgument,  // the caller's fault; retrying cannot help
  kNotFound,
  kUnsupported,  // valid, but this build or device cannot do it
  kCorrupt,      // bytes from a file or a peer do not parse
  kExhausted,    // memory, disk, slots
  kUnavailable,  // a worker is gone: the fault-tolerance layer acts on this one
  kDeadline,     // a worker is slow: and on this one
  kInternal,     // our fault
};

// OK is a null pointer, so success costs one comparison.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : state_(std::make_shared<const State>(State{code, std::move(message)})) {}

  bool ok() const { return state_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : state_->code; }
  std::string_view message() const {
    return ok() ? std::string_view("ok") : std::string_view(state_->message);
  }

  // Prepends where it happened: "conv_3: kernel is larger than the input".
  Status at(std::string_view place) const {
    return ok() ? *this : Status(code(), std::string(place) + ": " + state_->message);
  }

 private:
  struct State {
    Code code;
    std::string message;
  };
  std::shared_ptr<const State> state_;
};

inline Status invalid(std::string message) {
  return Status(Code::kInvalidArgument, std::move(message));
}

// What the system's `errno` says, under the code that fits.
Status system_status(int error);

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace shoal

// For what can only be our own bug, never for input: prints and aborts.
#define SHOAL_CHECK(condition) \
  ((condition) ? void() : ::shoal::check_failed(#condition, __FILE__, __LINE__))

namespace shoal {

// A T, or the reason there is none. Same verbs as std::expected<T, Status>.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : value_(std::move(status)) { SHOAL_CHECK(!this->status().ok()); }

  bool ok() const { return std::holds_alternative<T>(value_); }
  Status status() const { return ok() ? Status() : std::get<Status>(value_); }

  T& operator*() & { return std::get<T>(value_); }
  const T& operator*() const& { return std::get<T>(value_); }
  T&& operator*() && { return std::get<T>(std::move(value_)); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::variant<Status, T> value_;
};

}  // namespace shoal

#define SHOAL_CONCAT_(a, b) a##b
#define SHOAL_CONCAT(a, b) SHOAL_CONCAT_(a, b)

// Returns from the enclosing function if `expr` (a Status) is not OK.
#define SHOAL_TRY(expr)                                                                 \
  do {                                                                                  \
    if (::shoal::Status shoal_status = (expr); !shoal_status.ok()) return shoal_status; \
  } while (false)

// SHOAL_ASSIGN(Graph graph, read_onnx(path)): declares `graph`, or returns the error.
#define SHOAL_ASSIGN(declaration, expr) \
  SHOAL_ASSIGN_(SHOAL_CONCAT(shoal_result_, __LINE__), declaration, expr)
#define SHOAL_ASSIGN_(result, declaration, expr) \
  auto result = (expr);                          \
  if (!result.ok()) return result.status();      \
  declaration = *std::move(result)
