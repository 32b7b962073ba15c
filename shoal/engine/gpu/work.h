// Work: the kernels of a node, as source. One description serves every API: bodies are written in
// the part of C that OpenCL C and GLSL share, and in a few macros (OpenCL's are in source.cc).
// Shapes are numbers in the source, not arguments.
//
// Values are floats, row-major, stored as f32 or as f16. Arithmetic is f32, except that products of
// layers in half precision have f16 factors if the device has units for that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::gpu {

// How elements are stored. Values of the type bf16 are kBF16; the others are what the plan says.
enum class Storage : uint8_t { kF32, kF16, kBF16 };

// Units that multiply small matrices of f16 and add in f32, by the items of a warp together.
enum class MatrixUnits : uint8_t {
  kNone,
  kEmulated,  // through local memory, for tests
  kNvidia,    // mma.sync in PTX, compute capability 8.0 and later
};

struct Capabilities {
  int64_t max_group_items = 1;  // work items of a group
  // Memory that the items of a group share, in bytes. 0: none, or emulated in global memory, in
  // which case kernels do not use it (DeepMon's rule [Huynh 2017]).
  int64_t local_bytes = 0;

  int64_t compute_units = 1;  // that work at the same time

  // Extra memory that a node may use to be faster.
  int64_t room_bytes = 0;

  MatrixUnits matrix_units = MatrixUnits::kNone;

  // Writes of a group before a fence and an atomic are visible to groups that reach the atomic
  // later in the same launch. OpenCL 1.2 does not guarantee it.
  bool groups_meet = false;

  bool stores_halves = true;  // elements of two bytes

  int64_t max_arguments = 64;  // of a kernel
  // The access of a kernel to a buffer.
  int64_t max_argument_bytes = std::numeric_limits<int64_t>::max();

  bool has_local_memory() const { return local_bytes > 0; }
};

// Capabilities::room_bytes for this much memory and this largest buffer.
int64_t room_bytes(int64_t memory_bytes, int64_t largest_buffer);

// The most elements of a value or of scratch memory: kernels count them in ints.
int64_t most_elements(const Capabilities& device);

// A buffer that a kernel reads or writes, under the name that its body has for it.
struct Argument {
  enum class Kind : uint8_t { kInput, kOutput, kTable, kScratch, kCounters };
  Kind kind = Kind::kInput;
  size_t index = 0;  // of the node's inputs or outputs, or of Work::tables
  std::string name;
  // Of its elements. Set by the maker for scratch memory, by the plan for others.
  Storage storage = Storage::kF32;
};

struct LocalArray {
  std::string name;
  int64_t elements = 0;
};

// A kernel and the grid it is launched on.
struct Launch {
  std::vector<Argument> arguments;
  std::vector<LocalArray> locals;
  std::string body;
  std::array<int64_t, 3> groups{1, 1, 1};
  std::array<int64_t, 3> items{1, 1, 1};  // of a group
};

struct Work {
  std::string kernel;  // the name for people: "tiles", "direct"
  // In this order. Empty: output 0 has the elements of input 0, under another shape.
  std::vector<Launch> launches = {};
  // Additional constants, f32 or i32, made when needed.
  std::vector<std::function<Tensor()>> tables = {};
  int64_t scratch = 0;         // elements of f32, of a buffer that launches of this node share
  int64_t counters = 0;        // ints that are 0 before and after each launch
  bool tables_in_f32 = false;  // in half precision, too
};

// nullopt if a GPU leaves the node to another device: unsupported operators or types, empty
// tensors, and tensors whose elements an int cannot count. REQUIRES: `node` is of `graph`.
//
// If `in_half`, layers with weights may be computed in half precision.
//
// There may be several ways to compute a node, ordered by cost; nullopt if there are at most
// `rank`.
std::optional<Work> work_of(const Graph& graph, const Node& node, const Capabilities& device,
                            bool in_half = false, size_t rank = 0);

// Whether there may be several ways to compute a node.
bool has_choices(const Operator* op);

// Whether a node has weights to multiply with, so that its precision can be chosen.
bool is_layer(const Operator* op);

// Lowers graphs to the form that GPUs compute, with floats only, and tells which nodes are
// supported.

// Equal of integers, as 0 and 1 in f32: used by the gradient of a loss. An operator that only GPUs
// have.
extern const Operator equal_as_float;

// Cast(Equal) of integers as one node, and chains of element-wise nodes.
Result<Graph> lowered(const Graph& graph);

// Whether the node, which is one of `graph`'s, has work when the graph is lowered.
bool supports(const Graph& graph, const Node& node, const Capabilities& device);

}  // namespace shoal::gpu
