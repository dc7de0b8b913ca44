// SPDX-License-Identifier: Apache-2.0
// Two types of one name in two files are undefined behaviour that no compiler reports: the linker takes the
// functions of one of them for both. Without optimisation that is a crash.
#include "tests/support/places.h"
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Adds the types that a formatted source defines outside of anonymous namespaces, as "namespace::Name". In
/// formatted code they begin a line, and so do the braces that end a namespace.
void addTypes(
    const std::string& file, std::istream& source, std::map<std::string, std::set<std::string>>& out)
{
    static const std::regex kOpens(R"(^namespace ?([\w:]*) ?\{$)");
    static const std::regex kType(R"(^(?:struct|class|enum class|enum|union) (\w+)(?: final)?(?:$| :| \{))");
    std::vector<std::string> open;
    std::string line;
    while (std::getline(source, line)) {
        std::smatch found;
        if (std::regex_search(line, found, kOpens)) {
            open.push_back(found[1]);
        } else if (line.starts_with("} // namespace") && !open.empty()) {
            open.pop_back();
        } else if (std::regex_search(line, found, kType) && !line.ends_with(';')) {
            std::string name;
            bool isLocal = false;
            for (const std::string& outer : open) {
                isLocal = isLocal || outer.empty();
                name += outer + "::";
            }
            if (!isLocal)
                out[name + found[1].str()].insert(file);
        }
    }
}

} // namespace

TEST_CASE("a type's name is defined in one file")
{
    std::map<std::string, std::set<std::string>> types;
    const fs::path root = shardscope::sourceFolder();
    for (const char* top : {"core", "app", "ui"}) {
        if (!fs::is_directory(root / top))
            continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu")
                continue;
            std::ifstream stream(entry.path());
            addTypes(fs::relative(entry.path(), root).generic_string(), stream, types);
        }
    }
    CHECK(types.size() > 500);
    for (const auto& [name, files] : types) {
        if (files.size() > 1)
            FAIL_CHECK(name << " is defined in " << *files.begin() << " and " << *files.rbegin());
    }
}

TEST_CASE("the checker sees what is defined twice")
{
    std::map<std::string, std::set<std::string>> types;
    const auto add = [&](const char* file, const char* text) {
        std::istringstream stream(text);
        addTypes(file, stream, types);
    };
    add("a.h",
        "namespace shardscope {\n\nclass Other;\nstruct Same {\n};\nnamespace {\nstruct Local {\n};\n} // "
        "namespace\n}");
    add("b.h",
        "namespace shardscope {\n\nclass Other\n{\n};\nclass Same final : public X\n{\n};\nstruct Same::Impl "
        "{\n};\n"
        "namespace {\nstruct Local {\n};\n} // namespace\n} // namespace shardscope\n");
    CHECK(types["shardscope::Same"].size() == 2);
    CHECK(types["shardscope::Other"].size() == 1);
    CHECK(types.size() == 2);
}
