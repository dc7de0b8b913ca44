// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Options of a command, described once. The command line reads them (app/cli/jobs/option_values.h), a saved
/// plan stores them (core/plan/saved), its schema describes them, the window shows a command with them, and
/// help, man page and completion name them. To add an option to a struct, add a member and a row to its
/// fieldsOf().
namespace shardscope {

/// The type of a value on the command line, for the parser and for shell completion.
enum class ValueKind {
    Flag, ///< no value
    Text,
    Count, ///< a whole number
    Size, ///< bytes, with K, M, G, T
    Choice, ///< one of `choices`
    Path, ///< a file or folder
    Folder,
    File,
    NewFolder, ///< a folder to write into
    NewFile, ///< a file to write
};

/// An option on the command line.
struct Option {
    std::string name = {}; ///< with dashes: "--tag"
    char letter = 0; ///< 'o' for -o; 0 for none
    ValueKind kind = ValueKind::Flag;
    std::string valueName = {}; ///< "TAG"
    std::string help = {}; ///< whole sentences
    std::vector<std::string> choices = {};
    bool repeats = false;
    bool required = false;
    uint64_t minimum = 0; ///< of a count or size
    uint64_t maximum = std::numeric_limits<uint64_t>::max();
};

/// A value with words, most often an enum. The functions refer to a member of the struct.
struct OptionWord {
    std::function<std::string()> get; ///< empty: not set
    std::function<void(const std::string&)> set; ///< takes one of `words`
    std::vector<std::string> words; ///< in files; Option::choices are those of the command line
};

using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// The member of a struct that an option sets. false, nullopt and empty values mean that it is not set.
using OptionValue = std::variant<bool*, uint32_t*, uint64_t*, std::optional<int>*, std::optional<uint32_t>*,
    std::optional<uint64_t>*, std::string*, std::optional<std::string>*, std::vector<std::string>*,
    std::vector<uint32_t>*, TextPairs*, OptionWord>;

/// A row of a table of options.
struct OptionField {
    std::string_view key; ///< in stored options
    OptionValue value;
    /// Without a name: not on the command line. A text with the kind File is the content of a file.
    Option option = {};
    std::string_view text = {}; ///< what the stored value means, where the help does not say it
    bool always = false; ///< stored even if it is not set
    bool inverse = false; ///< the flag sets the member to false
    bool commas = false; ///< one word holds all values, separated by commas
    bool plain = false; ///< texts are stored as JSON strings: they are UTF-8, or else no plan is made
    std::string fallback = {}; ///< the value without the option, as a word; not shown in a command
    /// Whether the id of a plan has it through the plan's facts. Else idText() has it, after this mark.
    bool inFacts = false;
    std::optional<std::string_view> idMark = {}; ///< default: "|KEY="
};
using OptionFields = std::vector<OptionField>;

/// The options with a name, with the limits of their members.
std::vector<Option> optionsOf(const OptionFields& fields);
/// The same with the name of its struct, which has fieldsOf().
template <class Options>
std::vector<Option> optionsOf()
{
    Options options;
    return optionsOf(fieldsOf(options));
}

/// Words of the command line that set what `fields` have: names, each with a value, or without for flags.
/// Contents of files are left out, because the file's name is not known.
std::vector<std::pair<std::string, std::optional<std::string>>> wordsOf(const OptionFields& fields);

/// What the options add to the text that a plan's id is made from. Empty if none of them is set.
std::string idText(const OptionFields& fields);

} // namespace shardscope
