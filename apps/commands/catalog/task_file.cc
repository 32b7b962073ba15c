// Settings have the names that they have in recipes of 'shoal shrink'. Those of the file are for
// all variants; a table of a variant has the last word about its own.
#include "apps/commands/catalog/task_file.h"

#include <sstream>

#include "apps/commands/toml_file.h"

namespace shoal::config {
namespace {

using catalog::Making;
using catalog::VariantRecipe;

constexpr int64_t kMostWidths = 9;

// The settings of a table, which may have some keys besides.
Result<shrink::ShrinkOptions> settings_in(const toml::table& table, const std::string& name,
                                          ShrinkRecipe recipe,
                                          const std::set<std::string_view>& others) {
  std::ostringstream text;
  text << toml::toml_formatter(table);
  SHOAL_TRY(parse_shrink_recipe(text.str(), name, recipe, others));
  return resolve(recipe);
}

Result<double> number_in(toml::table& table, std::string_view key, double fallback) {
  if (table.get(key) == nullptr) return fallback;
  const auto value = table[key].value<double>();
  if (!value) return invalid(std::string(key) + " is no number");
  table.erase(key);
  return *value;
}

// Takes what only special networks have out of the table.
Status take_special(toml::table& table, catalog::SpecialiseOptions& special) {
  const toml::array* classes = table["classes"].as_array();
  if (classes == nullptr) return invalid("classes is missing, or no list");
  for (const toml::node& one : *classes) {
    const auto number = one.value_exact<int64_t>();
    if (!number) return invalid("classes is no list of numbers");
    special.classes.push_back(*number);
  }
  SHOAL_ASSIGN(special.other, number_in(table, "other", special.other));
  SHOAL_ASSIGN(special.max_drop, number_in(table, "max-drop", special.max_drop));
  if (const toml::node* count = table.get("per-class")) {
    const auto number = count->value_exact<int64_t>();
    if (!number) return invalid("per-class is no count");
    special.per_class = *number;
    table.erase("per-class");
  }
  special.at = table["at"].value_or(special.at);
  table.erase("classes");
  table.erase("at");
  return {};
}

Result<VariantRecipe> variant_in(toml::table table, const std::string& file,
                                 const ShrinkRecipe& common) {
  VariantRecipe recipe;
  recipe.name = table["name"].value_or(std::string());
  if (!catalog::is_variant_name(recipe.name))
    return invalid("a variant has no name, or a wrong one");
  const std::string where = file + ": " + recipe.name;
  const std::string method = table["method"].value_or(std::string());
  recipe.by = method == "int8"         ? Making::kInt8
              : method == "specialise" ? Making::kSpecialise
                                       : Making::kShrink;
  table.erase("name");
  if (recipe.by != Making::kShrink) table.erase("method");
  if (recipe.by == Making::kInt8) {
    recipe.of = table["of"].value_or(recipe.of);
    table.erase("of");
  } else if (recipe.by == Making::kSpecialise) {
    SHOAL_TRY(take_special(table, recipe.special).at(where));
  }
  SHOAL_ASSIGN(recipe.shrink, settings_in(table, where, common, {}));
  recipe.special.recipe = recipe.shrink.recipe;
  return recipe;
}

}  // namespace

Result<CatalogTask> parse_task(std::string_view text, const std::string& name) {
  SHOAL_ASSIGN(const toml::table root, parse_toml(text, name));
  CatalogTask task;
  task.recipe = usual_shrink_recipe();
  SHOAL_TRY(parse_shrink_recipe(text, name, task.recipe, {"widths", "variant"}));
  SHOAL_ASSIGN(task.options.shrink, resolve(task.recipe));
  if (root.get("widths") != nullptr) {
    const toml::table* widths = root["widths"].as_table();
    if (widths == nullptr) return invalid(name + ": widths is no table");
    const auto count = (*widths)["count"].value_exact<int64_t>();
    if (!count || *count < 2 || *count > kMostWidths) {
      return invalid(name + ": count is 2 to 9 widths");
    }
    task.options.widths = static_cast<size_t>(*count);
    SHOAL_ASSIGN(task.options.shrink,
                 settings_in(*widths, name + ": widths", task.recipe, {"count"}));
  }
  if (root.get("variant") == nullptr) return task;
  const toml::array* variants = root["variant"].as_array();
  if (variants == nullptr) return invalid(name + ": variant is no list: write [[variant]]");
  for (const toml::node& entry : *variants) {
    if (!entry.is_table()) return invalid(name + ": variant is not a list of tables");
    auto recipe = variant_in(*entry.as_table(), name, task.recipe);
    if (!recipe.ok()) return recipe.status().at(name);
    task.options.variants.push_back(*std::move(recipe));
  }
  return task;
}

Result<CatalogTask> read_task(const std::filesystem::path& path) {
  return read_toml(path, parse_task);
}

}  // namespace shoal::config
