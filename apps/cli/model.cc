#include "model.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <random>

#include "shoal/cpu/cpu.h"
#include "shoal/cpu/instruction_set.h"
#include "shoal/onnx/bind.h"
#include "shoal/onnx/model.h"
#include "shoal/zoo/embedded.h"
#include "shoal/zoo/zoo.h"

namespace shoal::cli {
namespace {

constexpr std::string_view kZoo = "zoo:";

Result<std::shared_ptr<const onnx::Model>> open_digits() {
  return onnx::Model::parse(nullptr, zoo::digits_model());
}

// "x=1x3x224x224" as a name and a shape.
Result<std::pair<std::string, Shape>> parse_shape(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos) return invalid("--shape takes NAME=1x3x224x224, not " + text);
  Shape shape;
  const char* at = text.data() + equals + 1;
  const char* end = text.data() + text.size();
  while (at < end) {
    int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || shape.rank() == Shape::kMaxRank ||
        (next != end && *next != 'x')) {
      return invalid("--shape takes NAME=1x3x224x224, not " + text);
    }
    shape.push_back(dim);
    at = next + 1;
  }
  return std::pair{text.substr(0, equals), shape};
}

Result<std::map<std::string, Shape>> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(auto named, parse_shape(text));
    shapes.insert(std::move(named));
  }
  return shapes;
}

// "200MB" in bytes, or 0: whatever else it is, it is no size.
int64_t parse_size(const std::string& text) {
  const std::map<std::string_view, double> units = {{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto unit = units.find(std::string_view(end, text.data() + text.size()));
  constexpr double kMost = 1e15;
  const bool is_size = error == std::errc() && unit != units.end() && number > 0 && number < kMost;
  return is_size ? static_cast<int64_t>(number * unit->second) : 0;
}

void add_memory(ModelFlags& flags, CLI::App& command, bool learns) {
  const std::string what =
      "plenty: weights may take more room where that is faster; low: they may not";
  const std::string limit =
      "; 200MB: all values of a training step together, some computed twice if need be";
  command.add_option("--memory", flags.memory, learns ? what + limit : what)
      ->check([learns](const std::string& text) -> std::string {
        if (text == "plenty" || text == "low" || (learns && parse_size(text) > 0)) return "";
        return text + " is not plenty or low" + (learns ? ", nor a size such as 200MB" : "");
      })
      ->capture_default_str();
}

}  // namespace

int64_t ModelFlags::memory_limit() const { return parse_size(memory); }

void ModelFlags::add_to(CLI::App& command, bool model_required, bool learns) {
  CLI::Option* option = command.add_option("model", model, "ONNX file or zoo:NAME");
  if (model_required) {
    option->required();
  } else {
    option->capture_default_str();
  }
  command.add_option("--device", device, "cpu, or reference (slow and plain)")
      ->check(CLI::IsMember({"cpu", "reference"}))
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads to use; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_flag("--pin", pin, "Keep threads on cores of their own");
  command.add_option("--share", share, "Be as slow as this part of one core: 0.25")
      ->check(CLI::Range(0.001, 1.0));
  command
      .add_option("--tune", tune,
                  "How kernels are chosen: off (by estimate), fast (measure the likely ones), full")
      ->check(CLI::IsMember({"off", "fast", "full"}))
      ->capture_default_str();
  add_memory(*this, command, learns);
  command.add_option("--packed-cache", packed,
                     "Keep packed weights in this file, one for each model, for the next start");
  command.add_option("--instructions", instructions, "Use this instruction set: AVX2, SSE4, ...")
      ->check([](const std::string& name) {
        const auto sets = cpu::instruction_sets();
        return std::ranges::find(sets, name) != sets.end() ? "" : "this machine has no " + name;
      });
  command.add_option("--kernel", kernel,
                     "Use this kernel wherever it can be: direct, winograd4, ...");
  command.add_flag("--optimize,!--no-optimize", optimize, "Run the passes (default)");
}

Result<std::unique_ptr<Device>> make_device(const ModelFlags& flags) {
  if (flags.device == "reference") return make_reference_device();
  if (!flags.instructions.empty()) cpu::use_instruction_set(flags.instructions);
  const Tune tune = flags.tune == "off"    ? Tune::kOff
                    : flags.tune == "full" ? Tune::kFull
                                           : Tune::kFast;
  return make_cpu_device({.threads = flags.threads,
                          .pin = flags.pin,
                          .share = flags.share,
                          .tune = tune,
                          .memory = flags.memory == "low" ? Memory::kLow : Memory::kPlenty,
                          .remember = tune != Tune::kOff,
                          .packed = flags.packed,
                          .prefer = flags.kernel});
}

Result<Session> open_session(const ModelFlags& flags, Device& device) {
  const SessionOptions options{.optimize = flags.optimize};
  if (flags.model == kDefaultModel) {
    SHOAL_ASSIGN(auto model, open_digits());
    return Session::open(std::move(model), device, options);
  }
  if (flags.model.starts_with(kZoo)) {
    SHOAL_ASSIGN(Graph graph, zoo::build(std::string_view(flags.model).substr(kZoo.size())));
    return Session::open(graph, device, options);
  }
  return Session::open(std::filesystem::path(flags.model), device, options);
}

Exit exit_of_run(const Status& status) {
  switch (status.code()) {
    case Code::kUnavailable:
      return Exit::kNetwork;
    case Code::kDeadline:
      return Exit::kTimeout;
    default:
      return Exit::kModel;
  }
}

Exit exit_of_cluster(const Status& status) {
  return status.code() == Code::kNotFound ? Exit::kUsage : Exit::kNetwork;
}

Result<LoadedGraph> load_graph(const std::string& name,
                               const std::vector<std::string>& shape_texts) {
  SHOAL_ASSIGN(auto shapes, parse_shapes(shape_texts));
  if (name.starts_with(kZoo) && name != kDefaultModel) {
    SHOAL_ASSIGN(Graph graph, zoo::build(std::string_view(name).substr(kZoo.size())));
    return LoadedGraph{std::move(graph), {"output"}};
  }
  auto opened = name == kDefaultModel ? open_digits() : onnx::Model::open(name);
  if (!opened.ok()) return opened.status();
  SHOAL_ASSIGN(onnx::KnownValues known, onnx::declared_inputs(**opened));
  for (const auto& [input, shape] : shapes) {
    if (!known.contains(input)) return invalid("the model has no input " + input);
    known[input].type.shape = shape;
  }
  SHOAL_ASSIGN(onnx::Bound bound, onnx::bind(*opened, known));
  if (bound.rest) {
    return Status(Code::kUnsupported, "shapes depend on the elements of " + bound.wanted[0] +
                                          ", which only a run knows; 'shoal run' can do it");
  }
  return LoadedGraph{std::move(bound.graph), std::move(bound.outputs)};
}

Result<Session::Tensors> random_inputs(const Session& session,
                                       const std::vector<std::string>& shape_texts) {
  SHOAL_ASSIGN(auto shapes, parse_shapes(shape_texts));
  std::mt19937 rng(1);
  Session::Tensors inputs;
  for (const InputInfo& input : session.inputs()) {
    if (input.optional && !shapes.contains(input.name)) continue;
    TensorType type{input.dtype, {}};
    for (int64_t d : input.dims) {
      if (type.shape.rank() == Shape::kMaxRank)
        return invalid("input " + input.name + " has too many dimensions");
      type.shape.push_back(d < 0 ? 1 : d);
    }
    if (const auto given = shapes.find(input.name); given != shapes.end())
      type.shape = given->second;
    SHOAL_TRY(check(type));
    inputs[input.name] = random_tensor(type, rng);
  }
  for (const auto& [name, shape] : shapes) {
    if (!inputs.contains(name)) return invalid("the model has no input " + name);
  }
  SHOAL_TRY(session.accepts(inputs));
  return inputs;
}

Tensor random_tensor(const TensorType& type, std::mt19937& rng) {
  Tensor tensor(type);
  std::uniform_real_distribution<float> uniform(0, 1);
  visit<AllTypes>(type.dtype, [&]<class T>() {
    for (T& x : tensor.data<T>()) {
      x = Floats::contains(kDTypeOf<T>) ? static_cast<T>(uniform(rng)) : static_cast<T>(rng() % 2);
    }
  });
  return tensor;
}

bool is_image(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

Result<Tensor> prepare_image(const Tensor& image, const InputInfo& input, Preprocess how) {
  int64_t height = 0, width = 0;
  if (input.dims.size() == 4) {  // [n, c, h, w], or [n, h, w, c] where only that makes sense
    const auto& d = input.dims;
    if (d[1] != 1 && d[1] != 3 && (d[3] == 1 || d[3] == 3)) how.nhwc = true;
    height = std::max<int64_t>(0, d[how.nhwc ? 1 : 2]);
    width = std::max<int64_t>(0, d[how.nhwc ? 2 : 3]);
    const int64_t channels = d[how.nhwc ? 3 : 1];
    if (how.channels == 0 && (channels == 1 || channels == 3)) how.channels = channels;
  }
  return preprocess(image, how, height, width);
}

}  // namespace shoal::cli
