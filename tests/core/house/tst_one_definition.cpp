// SPDX-License-Identifier: Apache-2.0
// What types are called, and how large classes are.
//
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

constexpr size_t kMostMembers = 20;

/// Names the classes of a formatted source with more data members than allowed. A struct may have more: its
/// fields are what a file or an answer has.
std::vector<std::string> largeClasses(std::istream& source)
{
    static const std::regex kClass(R"(^( *)class (\w+)(?: final)?(?:$| :))");
    static const std::regex kMember(R"(^( *)\S.*\bm_\w+(?: = .*|\{.*\})?;(?: *//.*)?$)");
    struct Open {
        std::string indent;
        std::string name;
        size_t members = 0;
    };
    std::vector<Open> open;
    std::vector<std::string> out;
    std::string line;
    while (std::getline(source, line)) {
        std::smatch found;
        if (!line.ends_with(';') && std::regex_search(line, found, kClass)) {
            open.push_back({found[1], found[2]});
        } else if (!open.empty() && line == open.back().indent + "};") {
            if (open.back().members > kMostMembers)
                out.push_back(open.back().name);
            open.pop_back();
        } else if (!open.empty() && std::regex_search(line, found, kMember)) {
            open.back().members += found[1] == open.back().indent + "    " ? 1 : 0;
        }
    }
    return out;
}

/// Calls `use` with the path and the text of every source file of the program.
template <class Use>
void forEachSource(const Use& use)
{
    const fs::path root = shardscope::sourceFolder();
    for (const char* top : {"core", "app", "ui"}) {
        if (!fs::is_directory(root / top))
            continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu")
                continue;
            std::ifstream stream(entry.path());
            use(fs::relative(entry.path(), root).generic_string(), stream);
        }
    }
}

} // namespace

TEST_CASE("no class has more than twenty data members")
{
    forEachSource([](const std::string& file, std::istream& source) {
        for (const std::string& name : largeClasses(source))
            FAIL_CHECK(file << ": " << name << " has more than " << kMostMembers << " data members");
    });
}

TEST_CASE("the checker sees large classes")
{
    const auto problems = [](size_t members, const std::string& inner = {}) {
        std::string text
            = "class Large final : public Base {\npublic:\n    int f() { return m_0; }\n" + inner;
        for (size_t i = 0; i < members; ++i)
            text += "    int m_" + std::to_string(i) + " = 0; ///< a number\n";
        std::istringstream stream(text + "};\n");
        return largeClasses(stream).size();
    };
    CHECK(problems(kMostMembers) == 0);
    CHECK(problems(kMostMembers + 1) == 1);
    CHECK(problems(kMostMembers, "    class Inner {\n        int m_inner;\n    };\n") == 0);
}

TEST_CASE("a type's name is defined in one file")
{
    std::map<std::string, std::set<std::string>> types;
    forEachSource([&](const std::string& file, std::istream& source) { addTypes(file, source, types); });
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
