// Status and Result<T>: how every failure is reported. Shoal throws no exceptions of its own.
//
//   Result<Session> session = Session::open("model.onnx", *device);
//   if (!session.ok()) std::cerr << session.status().message() << "\n";
//
// Both are values. As in the standard library, const methods may be called from several threads at
// once; other methods need exclusive access. That holds for every type of Shoal that does not say
// otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#pragma GCC visibility push(default)

namespace shoal {

// The kind of a failure, which a program can act on. The values are part of the ABI.
enum class Code : uint8_t {
  kOk,
  kInvalidArgument,  // the caller's fault; retrying cannot help
  kNotFound,         // a file, a model or a name that is not there
  kUnsupported,      // valid, but this build or device cannot do it
  kCorrupt,          // bytes from a file or a peer do not parse
  kExhausted,        // memory, disk, slots
  kUnavailable,      // a worker is gone: the fault-tolerance layer acts on this one
  kDeadline,         // a worker is slow: and on this one
  kInternal,         // our fault
  kCancelled,        // the caller no longer wants the answer
};

// Success, or a code and a message for people. OK is a null pointer, so that success costs one
// comparison; copies of a failure share its message.
class [[nodiscard]] Status {
 public:
  // OK.
  Status() = default;
  // A failure. REQUIRES: code is not kOk.
  Status(Code code, std::string message);

  // Whether this is success.
  bool ok() const { return state_ == nullptr; }
  // The kind of the failure; kOk if it is none.
  Code code() const { return ok() ? Code::kOk : state_->code; }
  // A message for people: one sentence, without a final full stop; "ok" if all is well. Valid as
  // long as any copy of this status.
  std::string_view message() const {
    return ok() ? std::string_view("ok") : std::string_view(state_->message);
  }

  // The same failure with a place before its message: "conv_3: kernel is larger than the input".
  Status at(std::string_view place) const;

 private:
  struct State {
    Code code;
    std::string message;
  };
  std::shared_ptr<const State> state_;
};

// A failure with code kInvalidArgument.
Status invalid(std::string message);

// The system's message for an `errno`, under the code that fits.
Status system_status(int error);

// Prints where a check failed and aborts: for SHOAL_CHECK only.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace shoal

// Prints and aborts if the condition does not hold. For REQUIRES clauses and bugs of Shoal; errors
// of files, users or peers are reported by a Status.
#define SHOAL_CHECK(condition) \
  ((condition) ? void() : ::shoal::check_failed(#condition, __FILE__, __LINE__))

namespace shoal {

// A T, or the reason there is none. The same verbs as std::expected<T, Status>.
template <class T>
class [[nodiscard]] Result {
 public:
  // Success.
  Result(T value) : value_(std::move(value)) {}
  // A failure. REQUIRES: !status.ok().
  Result(Status status) : status_(std::move(status)) { SHOAL_CHECK(!status_.ok()); }

  // Whether there is a T.
  bool ok() const { return value_.has_value(); }
  // The reason why there is none; OK if there is one.
  Status status() const { return status_; }

  // The T, which lives as long as this. REQUIRES: ok(); otherwise std::bad_optional_access is
  // thrown.
  T& operator*() & { return value_.value(); }
  const T& operator*() const& { return value_.value(); }
  T&& operator*() && { return std::move(value_).value(); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  // Not a variant: compilers take twice as long for one, and every source has some.
  Status status_;
  std::optional<T> value_;
};

}  // namespace shoal

#define SHOAL_CONCAT_(a, b) a##b
#define SHOAL_CONCAT(a, b) SHOAL_CONCAT_(a, b)

// Returns from the enclosing function if `expr` (a Status) is not OK.
#define SHOAL_TRY(expr)                                                    \
  do {                                                                     \
    if (::shoal::Status shoal_try_status = (expr); !shoal_try_status.ok()) \
      return shoal_try_status;                                             \
  } while (false)

// SHOAL_ASSIGN(Graph graph, read_onnx(path)): declares `graph`, or returns the error.
#define SHOAL_ASSIGN(declaration, expr) \
  SHOAL_ASSIGN_(SHOAL_CONCAT(shoal_result_, __LINE__), declaration, expr)
#define SHOAL_ASSIGN_(result, declaration, expr) \
  auto result = (expr);                          \
  if (!result.ok()) return result.status();      \
  declaration = *std::move(result)

#pragma GCC visibility pop
