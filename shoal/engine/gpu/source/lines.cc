#include "shoal/engine/gpu/source/lines.h"

#include <algorithm>
#include <bit>

#include "shoal/engine/gpu/source/source.h"

namespace shoal::gpu {

LineKernel::LineKernel(const Capabilities& device, int64_t lines, int64_t length)
    : device_(device), lines_(lines), length_(length) {
  constexpr int64_t kShort = 32, kMost = 128;
  if (!device_.has_local_memory() || length < kShort) return;
  const int64_t most = std::min({kMost, device_.max_group_items, length});
  items_ = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
}

void LineKernel::reduce(const std::string& name, const std::string& start, const std::string& value,
                        const std::string& join, const std::string& before) {
  const std::map<std::string, std::string> values{
      {"name", name}, {"start", start},       {"value", value},       {"before", before},
      {"join", join}, {"L", text_of(items_)}, {"n", text_of(length_)}};
  body_ += filled(R"(float $name = $start;
for (int j = item; j < $n; j += $L) {
$before  const float a = $name;
  const float b = $value;
  $name = $join;
}
)",
                  values);
  if (items_ == 1) return;
  body_ += filled(R"(LOCAL(sums, item) = $name;
BARRIER;
for (int s = $L / 2; s > 0; s /= 2) {
  if (item < s) {
    const float a = LOCAL(sums, item);
    const float b = LOCAL(sums, item + s);
    LOCAL(sums, item) = $join;
  }
  BARRIER;
}
$name = LOCAL(sums, 0);
BARRIER;
)",
                  values);
}

void LineKernel::for_each(const std::string& text) {
  body_ += "for (int j = item; j < " + text_of(length_) + "; j += " + text_of(items_) + ") {\n" +
           text + "}\n";
}

void LineKernel::once(const std::string& text) {
  body_ += items_ == 1 ? text : "if (item == 0) {\n" + text + "}\n";
}

Launch LineKernel::finish(std::vector<Argument> arguments) const {
  if (items_ == 1) {
    return for_each_element(lines_, std::move(arguments),
                            "const int line = i;\nconst int item = 0;\n" + body_, device_);
  }
  return {std::move(arguments),
          {{"sums", items_}},
          "const int line = GROUP(0);\nconst int item = ITEM(0);\n" + body_,
          {lines_, 1, 1},
          {items_, 1, 1}};
}

LineParts::LineParts(const Capabilities& device, int64_t lines, int64_t whole) {
  constexpr int64_t kLeast = 1024, kGroups = 8;  // elements of a part; groups for each unit
  const int64_t wanted = kGroups * std::max<int64_t>(device.compute_units, 1) / lines;
  const int64_t most = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(whole / kLeast, 1));
  length = (whole + most - 1) / most;
  count = (whole + length - 1) / length;
}

void add_reduction(const Reduction& reduction, const Capabilities& device, Work& work) {
  const auto& [from, to, kept, gone, start, join, value, finish] = reduction;
  const int64_t lines = kept.shape.count(), whole = gone.shape.count();
  const LineParts parts(device, lines, whole);
  const bool is_cut = parts.count > 1;
  const std::string result = "const float total = whole;\nSTORE(y, line, " + finish + ");\n";
  const auto as = [](Argument argument, const char* name) {
    argument.name = name;
    return argument;
  };
  const Argument room{Argument::Kind::kScratch, 0, "room"}, y = as(to, "y");
  LineKernel kernel(device, lines * parts.count, parts.length);
  const std::string of = is_cut ? "line / " + text_of(parts.count) : "line";
  kernel.statement("const int of = " + of +
                   ";\nconst int base = " + offset_text(kept.shape, kept.strides, "of") + ";\n");
  std::string before = "const int at = j;\n", element = value;
  if (is_cut) {
    before =
        "const int at = line % " + text_of(parts.count) + " * " + text_of(parts.length) + " + j;\n";
  }
  const std::string load = "LOAD(x, base + " + offset_text(gone.shape, gone.strides, "at") + ")";
  if (whole % parts.length == 0) {
    before += "const float e = " + load + ";\n";
  } else {
    before += "const bool inside = at < " + text_of(whole) + ";\nconst float e = inside ? " + load +
              " : 0.0f;\n";
    element = "inside ? " + value + " : " + start;
  }
  kernel.reduce("whole", start, element, join, before);
  kernel.once(is_cut ? "STORE(room, line, whole);\n" : result);
  work.launches.push_back(kernel.finish({as(from, "x"), is_cut ? room : y}));
  if (!is_cut) return;
  work.scratch = std::max(work.scratch, lines * parts.count);
  LineKernel ends(device, lines, parts.count);
  ends.reduce("whole", start, "LOAD(room, line * " + text_of(parts.count) + " + j)", join);
  ends.once(result);
  work.launches.push_back(ends.finish({room, y}));
}

}  // namespace shoal::gpu
