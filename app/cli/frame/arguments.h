// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/frame/command.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

/// The options and arguments of one call, already checked against their Command.
class Arguments
{
public:
    [[nodiscard]] bool has(std::string_view option) const;
    /// The last value given; empty when there is none.
    [[nodiscard]] std::string text(std::string_view option) const;
    [[nodiscard]] std::vector<std::string> all(std::string_view option) const;
    [[nodiscard]] std::optional<uint64_t> count(std::string_view option) const;
    [[nodiscard]] std::optional<uint64_t> size(std::string_view option) const;
    /// An argument by its name in the Command ("PATH"); empty when it was not given.
    [[nodiscard]] std::string positional(std::string_view name) const;
    /// All values of an argument that repeats.
    [[nodiscard]] std::vector<std::string> allOf(std::string_view positional) const;

    void set(std::string_view option, std::vector<std::string> values);
    void addPositional(std::string_view name, std::string value);
    /// In place of all values that it has.
    void setPositional(std::string_view name, std::vector<std::string> values);

private:
    std::map<std::string, std::vector<std::string>, std::less<>> m_options;
    std::map<std::string, std::vector<std::string>, std::less<>> m_positionals;
};

/// The command's option with this name or letter ("--tag", "-t"); null if it has none.
const Option* findOption(const Command& command, std::string_view word);

struct Parsed {
    const Command* command = nullptr; ///< the innermost one
    std::vector<const Command*> path; ///< from the program to it
    Arguments arguments;
    std::vector<std::string> words = {}; ///< as they were given

    /// The command for a shell: "shardscope check runs/llama".
    [[nodiscard]] std::string commandLine() const;
};

/// Finds the verb and reads its options. Error: Usage, with a suggestion for a misspelled word.
///
/// With `--help`, missing arguments are no error. Options may also be before the verb.
Result<Parsed> parse(const Command& root, std::span<const std::string> words);

} // namespace shardscope::cli
