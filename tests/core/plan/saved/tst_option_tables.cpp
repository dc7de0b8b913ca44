// SPDX-License-Identifier: Apache-2.0
// Every row of the tables of options: stored and read again, in a command, and in a plan's id.
#include "core/describe/option.h"
#include "core/plan/saved/saved_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace shardscope;

namespace {

/// Sets the member of a row to something that is not its default.
struct SetOther {
    const OptionField& field;

    void operator()(bool* value) const { *value = !*value; }
    void operator()(uint32_t* value) const { *value = 7; }
    void operator()(uint64_t* value) const { *value = 70; }
    void operator()(std::string* value) const { *value = "a text\xff"; }
    void operator()(std::vector<uint32_t>* value) const { *value = {0, 7}; }
    void operator()(TextPairs* value) const { *value = {{"from", "to\xff"}, {"x", "y"}}; }
    void operator()(std::vector<std::string>* value) const
    {
        *value = field.plain ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"a", "b\xff"};
    }
    template <class T>
    void operator()(std::optional<T>* value) const
    {
        (*this)(&value->emplace());
    }
    void operator()(int* value) const { *value = 3; }
    void operator()(const OptionWord& word) const
    {
        word.set(word.get() == word.words.back() ? word.words.front() : word.words.back());
    }
};

template <class Options>
SavedPlan savedWith(const Options& options)
{
    SavedPlan out;
    out.verb = std::is_same_v<Options, RepairOptions> ? "repair" : "reshard";
    out.source = "/source";
    out.destination = "/destination";
    out.options = options;
    return out;
}

template <class Options>
void checkRow(size_t row)
{
    Options options;
    const std::string before = savedPlanText(savedWith(options));
    const std::string idBefore = idText(fieldsOf(options));
    const OptionFields fields = fieldsOf(options);
    const OptionField& field = fields[row];
    CAPTURE(std::string(field.key));
    std::visit(SetOther{field}, field.value);

    const std::string text = savedPlanText(savedWith(options));
    CHECK(text != before);
    const auto parsed = parseSavedPlan(text, "plan.json");
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
    CHECK(savedPlanText(*parsed) == text);

    CHECK((idText(fields) != idBefore) == !field.inFacts);

    const auto words = wordsOf(fields);
    const bool isShown = std::ranges::any_of(
        words, [&](const auto& word) { return !word.first.empty() && word.first == field.option.name; });
    const auto* const word = std::get_if<OptionWord>(&field.value);
    const bool isWordOfFiles = word != nullptr
        && std::ranges::find(field.option.choices, word->get()) == field.option.choices.end();
    CHECK(isShown == (!field.option.name.empty() && field.option.kind != ValueKind::File && !isWordOfFiles));
}

template <class Options>
void checkTable()
{
    Options options;
    const OptionFields fields = fieldsOf(options);
    std::set<std::string_view> keys;
    std::set<std::string> names;
    for (size_t row = 0; row < fields.size(); ++row) {
        CHECK(keys.insert(fields[row].key).second);
        const std::string& name = fields[row].option.name;
        CHECK((name.empty() || names.insert(name).second));
        CHECK((name.empty() || (name.starts_with("--") && !fields[row].option.help.empty())));
        checkRow<Options>(row);
    }
    CHECK(wordsOf(fields).size() <= 1); // only what every command names: the format of an export
}

} // namespace

TEST_CASE("each option of a plan is stored, is in commands, and decides the id")
{
    checkTable<ReshardOptions>();
    checkTable<ExportOptions>();
    checkTable<RepairOptions>();
}

TEST_CASE("an option that is added to a table is in the id")
{
    std::optional<uint64_t> member;
    const OptionFields fields{{.key = "new_option", .value = &member}};
    CHECK(idText(fields).empty());
    member = 3;
    CHECK(idText(fields) == "|new_option=3");
}

TEST_CASE("a missing or unknown value of an option is named")
{
    const auto problemOf = [](const std::string& from, const std::string& to) {
        std::string text = savedPlanText(savedWith(ExportOptions()));
        text.replace(text.find(from), from.size(), to);
        const auto parsed = parseSavedPlan(text, "plan.json");
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().code == ErrorCode::Usage);
        return parsed.error().message;
    };
    CHECK(problemOf("\"shard_size\"", "\"other\"").find("`shard_size` is missing") != std::string::npos);
    CHECK(problemOf("\"only\": []", "\"only\": {}").find("`only` is not a list") != std::string::npos);
    CHECK(problemOf("\"keep\"", "\"fp7\"").find("`dtype` has a value") != std::string::npos);
    CHECK(problemOf("\"safetensors\"", "\"weights\"").find("`format` has a value") != std::string::npos);
}
