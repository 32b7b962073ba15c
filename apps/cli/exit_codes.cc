// Exit codes as docs/reference/cli.md gives them.
#include "exit_codes.h"

#include <algorithm>
#include <array>

namespace shoal::cli {
namespace {

struct Row {
  Code code;
  std::array<Exit, 5> exits;  // by Doing
};

using enum Exit;

// clang-format off
constexpr Row kTable[] = {
    //                        kRun      kTrain      kUseData    kConnect  kTalk
    {Code::kInvalidArgument, {kModel,   kUsage,     kUsage,     kUsage,   kAuth}},
    {Code::kNotFound,        {kModel,   kUsage,     kUsage,     kUsage,   kAuth}},
    {Code::kUnsupported,     {kModel,   kModel,     kModel,     kNetwork, kNetwork}},
    {Code::kCorrupt,         {kModel,   kModel,     kUsage,     kNetwork, kAuth}},
    {Code::kExhausted,       {kModel,   kResources, kResources, kNetwork, kResources}},
    {Code::kUnavailable,     {kNetwork, kNetwork,   kNetwork,   kNetwork, kNetwork}},
    {Code::kDeadline,        {kTimeout, kTimeout,   kTimeout,   kNetwork, kTimeout}},
    {Code::kInternal,        {kModel,   kDevice,    kDevice,    kNetwork, kDevice}},
};
// clang-format on

}  // namespace

Exit exit_of(Doing doing, const Status& status) {
  const Row* const row = std::ranges::find(kTable, status.code(), &Row::code);
  return row != std::end(kTable) ? row->exits[static_cast<size_t>(doing)] : Exit::kDevice;
}

}  // namespace shoal::cli
