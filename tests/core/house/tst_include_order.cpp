// SPDX-License-Identifier: Apache-2.0
// The rooms of the source, which headers of others each may include, and which of its own others may:
// rooms.txt.
#include "tests/support/places.h"
#include <doctest/doctest.h>

#include <algorithm>
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
using Problems = std::vector<std::string>;

constexpr size_t kLongestChain = 12; ///< of rooms, each using the next
constexpr size_t kMaxLines = 500;
constexpr size_t kMaxUnits = 24; ///< in a folder; a unit is a .cpp with its .h
constexpr size_t kMaxFunctionLines = 60; ///< the braces included

/// Functions that are longer, each with the reason.
struct LongFunction {
    const char* file;
    const char* head; ///< part of the line above the opening brace
};
const LongFunction kLongFunctions[] = {
    // A table with a row for each check of a loader. A global one would need strings of another file too
    // early.
    {"tests/core/doctor/tst_loader_checks.cpp", "planted()"},
};

struct Room {
    std::string name;
    std::set<std::string> uses; ///< rooms
    std::set<std::string> face; ///< headers, from the root of the tree
};

/// What rooms.txt says.
struct House {
    std::vector<Room> rooms; ///< in its order
    std::set<std::string> everybody; ///< rooms that all others may use
    std::map<std::string, size_t> roomOf; ///< folder → number of its room
    Problems problems;
};

/// Adds what a line says about the last room.
void addToRoom(House& house, const std::string& first, std::istream& words)
{
    Room& room = house.rooms.back();
    if (first.ends_with('/')) {
        house.roomOf[room.name + "/" + first.substr(0, first.size() - 1)] = house.rooms.size() - 1;
    } else if (first == "uses" || first == "face") {
        for (std::string word; words >> word;)
            first == "uses" ? room.uses.insert(word) : room.face.insert(room.name + "/" + word);
    } else {
        house.problems.push_back(room.name + ": " + first + " is not understood");
    }
}

House parseHouse(std::istream& stream)
{
    House house;
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::string first;
        if (line.starts_with('#') || !(words >> first))
            continue;
        if (first == "everybody") {
            for (std::string word; words >> word;)
                house.everybody.insert(word);
        } else if (line.front() != ' ') {
            house.roomOf[first] = house.rooms.size();
            house.rooms.push_back({first, {}, {}});
        } else if (!house.rooms.empty()) {
            addToRoom(house, first, words);
        }
    }
    return house;
}

const House& house()
{
    static const House kHouse = [] {
        std::ifstream stream(fs::path(shardscope::sourceFolder()) / "rooms.txt");
        return parseHouse(stream);
    }();
    return kHouse;
}

/// Of one of the rooms that all others may use, only what it says itself.
std::set<std::string> usable(const House& house, const Room& room)
{
    std::set<std::string> out = room.uses;
    if (!house.everybody.contains(room.name))
        out.insert(house.everybody.begin(), house.everybody.end());
    return out;
}

/// Rooms use rooms above their line, in no longer chains than allowed.
Problems checkOrder(const House& house)
{
    Problems problems = house.problems;
    std::map<std::string, size_t> chains; ///< the longest that begins with a room
    for (const Room& room : house.rooms) {
        size_t longest = 0;
        for (const std::string& used : usable(house, room)) {
            if (chains.contains(used))
                longest = std::max(longest, chains[used]);
            else
                problems.push_back(room.name + ": " + used + " is not above it");
            if (room.uses.contains(used) && house.everybody.contains(used)
                && !house.everybody.contains(room.name))
                problems.push_back(room.name + ": everybody uses " + used);
        }
        if (longest + 1 > kLongestChain)
            problems.push_back(room.name + ": begins a chain of " + std::to_string(longest + 1) + " rooms");
        chains[room.name] = longest + 1;
    }
    return problems;
}

std::string folderOf(const std::string& path)
{
    const size_t end = path.rfind('/');
    return end == std::string::npos ? std::string() : path.substr(0, end);
}

std::string topOf(const std::string& path)
{
    return path.substr(0, path.find('/'));
}

/// Null for a file in a folder that rooms.txt does not list.
const Room* roomOf(const std::string& path)
{
    const auto found = house().roomOf.find(folderOf(path));
    return found == house().roomOf.end() ? nullptr : &house().rooms[found->second];
}

bool isIn(const std::string& path, std::string_view folder)
{
    return path.starts_with(std::string(folder) + "/");
}

bool isQtHeader(const std::string& header)
{
    static const std::regex kPattern("Q[A-Z][A-Za-z0-9]*|Qt[A-Za-z0-9]*(/.*)?|q[a-z]+\\.h|.*/q[a-z]+\\.h");
    return std::regex_match(header, kPattern);
}

/// Of LibTorch and CUDA, which only the modules see.
bool isComputeHeader(const std::string& header)
{
    static const std::regex kPattern("(ATen|c10|torch)/.*|cuda[a-z_]*\\.h|math_constants\\.h");
    return std::regex_match(header, kPattern);
}

/// Empty if it may.
std::string whyNotInclude(const std::string& file, const std::string& header)
{
    const Room* const from = roomOf(file);
    const Room* const to = roomOf(header);
    if (!from || !to)
        return "is in no room of rooms.txt, or not spelled from the root";
    if (from == to)
        return {};
    if (!usable(house(), *from).contains(to->name))
        return "is in a room that " + from->name + " does not use by rooms.txt";
    return to->face.contains(header) ? std::string() : "is private to its room by rooms.txt";
}

const std::regex& includeLine()
{
    static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
    return kInclude;
}

/// What is wrong with the includes of one file; `file` is its path from the root of the tree.
Problems checkIncludes(const std::string& file, const std::string& text)
{
    const bool isHeader = file.ends_with(".h");
    const bool isWithoutQt = file.starts_with("core/") || file.starts_with("app/cli/");
    Problems problems;
    std::istringstream lines(text);
    std::string line;
    for (size_t number = 1; std::getline(lines, line); ++number) {
        std::smatch match;
        if (!std::regex_search(line, match, includeLine()))
            continue;
        const std::string header = match[2];
        const auto complain = [&](const std::string& why) {
            problems.push_back(file + ":" + std::to_string(number) + ": " + header + " " + why);
        };
        if (isWithoutQt && isQtHeader(header))
            complain("is a Qt header");
        else if (isComputeHeader(header) && !isIn(file, "core/compute/torch")
            && !isIn(file, "core/compute/cuda"))
            complain("belongs into a compute module");
        else if (const std::string why = match[1] == "\"" ? whyNotInclude(file, header) : ""; !why.empty())
            complain(why);
        if (isHeader && (header.starts_with("nlohmann/") || header.starts_with("CLI/")))
            complain("belongs into .cpp files only");
    }
    return problems;
}

/// What is wrong with one file as such.
Problems checkForm(const std::string& file, const std::string& text)
{
    Problems problems;
    if (!text.starts_with("// SPDX-License-Identifier: Apache-2.0\n"))
        problems.push_back(file + ": the first line is not the licence");
    const auto count = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
    if (count > kMaxLines)
        problems.push_back(file + ": " + std::to_string(count) + " lines; split it");
    return problems;
}

/// Whether a brace after this line is a function's, where it is no block inside of one.
bool beginsFunction(const std::string& line)
{
    static const std::regex kType("^ *(class|struct|enum|union) |^ *[:,] (public|private|protected) ");
    return !std::regex_search(line, kType);
}

/// Functions that are too long. In formatted code the braces of a function begin lines of their own, at one
/// indentation; a constructor's initialisers are above the first, and those of a lambda are not alone.
Problems checkFunctions(const std::string& file, const std::string& text)
{
    Problems problems;
    std::istringstream lines(text);
    std::string line;
    std::string above;
    std::string head;
    std::string end; ///< how the last line of the function begins; empty outside
    size_t begin = 0;
    for (size_t number = 1; std::getline(lines, line); ++number) {
        const size_t indent = line.find_first_not_of(' ');
        if (indent == std::string::npos)
            continue;
        if (end.empty() && line.substr(indent) == "{" && beginsFunction(above)) {
            end = std::string(indent, ' ') + "}";
            head = above;
            begin = number;
        } else if (!end.empty() && line.starts_with(end)) {
            const size_t count = number - begin + 1;
            const bool mayBeLong = std::any_of(
                std::begin(kLongFunctions), std::end(kLongFunctions), [&](const LongFunction& one) {
                    return file == one.file && head.find(one.head) != std::string::npos;
                });
            if (count > kMaxFunctionLines && !mayBeLong)
                problems.push_back(file + ":" + std::to_string(begin) + ": a function of "
                    + std::to_string(count) + " lines; split it");
            end.clear();
        }
        above = line;
    }
    if (!end.empty())
        problems.push_back(file + ":" + std::to_string(begin) + ": the function's end was not found");
    return problems;
}

/// Calls `visit(path from the root, text)` for every C++ and CUDA source below one top folder.
template <class Visit>
size_t forEachSource(const std::string& top, Visit visit)
{
    const fs::path root = shardscope::sourceFolder();
    if (!fs::is_directory(root / top))
        return 0;
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
        const std::string extension = entry.path().extension().string();
        if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp" && extension != ".cu"))
            continue;
        std::ifstream stream(entry.path(), std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
        visit(fs::relative(entry.path(), root).generic_string(), text);
        ++count;
    }
    return count;
}

void report(const Problems& problems)
{
    for (const std::string& problem : problems)
        FAIL_CHECK(problem);
}

struct Planted {
    const char* file;
    const char* line;
    size_t problems;
};

const Planted kPlanted[] = {
    {"core/io/x.cpp", "#include \"core/base/result.h\"", 0},
    {"core/io/x.cpp", "#include \"core/io/file_system.h\"", 0},
    {"core/io/x.cpp", "#include \"core/checkpoint/model/checkpoint.h\"", 1},
    {"core/base/x.h", "#include \"core/io/file_system.h\"", 1},
    {"core/io/x.h", "#include \"core/tensor/dtype.h\"", 1}, // everybody's room, but not of everybody's rooms
    {"core/layout/x.h", "  #  include \"core/compare/digest/state_digest.h\"", 1},
    {"core/plan/model/x.h", "#include \"core/plan/export/export.h\"", 1},
    {"core/plan/emit/x.h", "#include \"core/plan/model/write_plan.h\"", 0},
    {"core/plan/emit/x.h", "#include \"core/plan/export/export_files.h\"", 0}, // of the same room
    {"core/plan/repair/x.h", "#include \"core/plan/export/export_files.h\"", 1}, // private
    {"core/tensor/x.cpp", "#include \"core/compute/compute_backend.h\"", 1},
    {"core/plan/emit/x.cpp", "#include \"core/compute/cuda/gpu.h\"", 1},
    {"core/tensor/x.cpp", "#include <ATen/ATen.h>", 1},
    {"core/compute/x.cpp", "#include <ATen/ATen.h>", 1},
    {"ui/pages/x.cpp", "#include <cuda_runtime_api.h>", 1},
    {"core/compute/torch/x.cpp", "#include <ATen/ATen.h>", 0},
    {"core/compute/torch/x.cpp", "#include \"core/tensor/dtype.h\"", 0},
    {"core/compute/torch/x.cpp", "#include \"core/torchfile/torch_file.h\"", 1},
    {"core/compute/cuda/x.cpp", "#include \"core/compute/torch/tensors.h\"", 1},
    {"core/compute/cuda/x.cu", "#include \"core/compute/cuda/tiles.h\"", 0},
    {"core/compute/cuda/x.cpp", "#include <QString>", 1},
    {"core/report/text/x.cpp", "#include \"core/engine/write/execute.h\"", 0},
    {"core/report/text/x.cpp", "#include \"core/unknown/x.h\"", 1},
    {"core/unknown/x.cpp", "#include \"core/base/result.h\"", 1},
    {"core/report/unknown/x.cpp", "#include \"core/base/result.h\"", 1},
    {"core/plan/emit/x.cpp", "#include \"app/cli/run.h\"", 1},
    {"core/plan/emit/x.cpp", "#include \"ui/shell/main_window.h\"", 1},
    {"core/plan/emit/x.cpp", "#include \"target_files.h\"", 1},
    {"core/plan/emit/x.cpp", "#include \"../model/write_plan.h\"", 1},
    {"core/plan/emit/x.cpp", "#include <QString>", 1},
    {"core/plan/emit/x.cpp", "#include <QtCore/QString>", 1},
    {"core/plan/emit/x.cpp", "#include \"qobject.h\"", 1},
    {"core/plan/emit/x.cpp", "#include <nlohmann/json.hpp>", 0},
    {"core/plan/emit/x.h", "#include <nlohmann/json.hpp>", 1},
    {"core/plan/emit/x.h", "#include <queue>", 0},
    {"ui/shell/x.cpp", "#include <QString>", 0},
    {"ui/shell/x.cpp", "#include \"core/engine/write/execute.h\"", 0},
    {"ui/shell/x.cpp", "#include \"ui/session/session.h\"", 0},
    {"ui/models/x.cpp", "#include \"ui/shell/main_window.h\"", 1},
    {"ui/widgets/x.cpp", "#include \"ui/session/session.h\"", 1},
    {"ui/shell/x.cpp", "#include \"app/cli/run.h\"", 1},
    {"ui/shell/x.cpp", "#include \"app/gui/main.h\"", 1},
    {"app/cli/verbs/x.cpp", "#include \"core/engine/write/execute.h\"", 0},
    {"app/cli/x.cpp", "#include \"app/cli/run.h\"", 0},
    {"app/cli/x.cpp", "#include \"ui/shell/main_window.h\"", 1},
    {"app/cli/x.cpp", "#include \"app/gui/main.h\"", 1},
    {"app/cli/x.cpp", "#include <QCoreApplication>", 1},
    {"app/cli/x.cpp", "#include <CLI/CLI.hpp>", 0},
    {"app/cli/x.h", "#include <CLI/CLI.hpp>", 1},
    {"app/gui/main.cpp", "#include \"ui/shell/main_window.h\"", 0},
    {"app/gui/main.cpp", "#include \"ui/shell/actions.h\"", 1}, // private
    {"app/gui/main.cpp", "#include \"app/cli/run.h\"", 0},
    {"app/gui/main.cpp", "#include <QApplication>", 0},
    {"app/gui/main.cpp", "#include \"tests/support/x.h\"", 1},
    {"core/io/x.cpp", "// #include \"ui/shell/main_window.h\" is not an include", 0},
};

} // namespace

TEST_CASE("every include names the face of a room that may be used")
{
    size_t core = 0;
    for (const char* top : {"core", "app", "ui"}) {
        const size_t count = forEachSource(
            top, [](const std::string& file, const std::string& text) { report(checkIncludes(file, text)); });
        if (top == std::string("core"))
            core = count;
    }
    CHECK(core > 20); // the tree was found
}

TEST_CASE("rooms.txt has no circle, no long chain, and nothing that is not used")
{
    report(checkOrder(house()));
    std::set<std::pair<std::string, std::string>> uses;
    std::set<std::string> faces;
    for (const char* top : {"core", "app", "ui"})
        forEachSource(top, [&](const std::string& file, const std::string& text) {
            std::istringstream lines(text);
            std::smatch match;
            for (std::string line; std::getline(lines, line);) {
                if (!std::regex_search(line, match, includeLine()))
                    continue;
                const Room* const from = roomOf(file);
                const Room* const to = roomOf(match[2]);
                if (from && to && from != to) {
                    uses.emplace(from->name, to->name);
                    faces.insert(match[2]);
                }
            }
        });
    for (const Room& room : house().rooms) {
        for (const std::string& used : room.uses)
            CHECK_MESSAGE(uses.contains({room.name, used}), room.name << " does not use " << used);
        for (const std::string& header : room.face)
            CHECK_MESSAGE(faces.contains(header), "no other room includes " << header);
    }
}

TEST_CASE("the checker sees circles and long chains")
{
    const auto problems = [](const std::string& text) {
        std::istringstream stream(text);
        return checkOrder(parseHouse(stream)).size();
    };
    CHECK(problems("a  bottom\n    x/  more\n\nb  top\n    uses  a\n    face  b.h\n") == 0);
    CHECK(problems("a  bottom\n    uses  b\n\nb  top\n    uses  a\n") == 1);
    CHECK(problems("a  bottom\n    uses  a\n") == 1);
    CHECK(problems("a  bottom\n    use  b\n") == 1); // not understood
    CHECK(problems("everybody a\na  bottom\nb  top\n    uses  a\n") == 1); // said twice
    std::string chain = "r0  bottom\n";
    for (size_t i = 1; i < kLongestChain; ++i)
        chain += "r" + std::to_string(i) + "  next\n    uses  r" + std::to_string(i - 1) + "\n";
    CHECK(problems(chain) == 0);
    CHECK(problems(chain + "top  one too many\n    uses  r" + std::to_string(kLongestChain - 1) + "\n") == 1);
}

TEST_CASE("every source names its licence and is at most as long as allowed")
{
    for (const char* top : {"core", "app", "ui", "tests"})
        forEachSource(
            top, [](const std::string& file, const std::string& text) { report(checkForm(file, text)); });
}

TEST_CASE("no function is longer than sixty lines")
{
    for (const char* top : {"core", "app", "ui", "tests"})
        forEachSource(top,
            [](const std::string& file, const std::string& text) { report(checkFunctions(file, text)); });
}

TEST_CASE("the checker sees long functions")
{
    const auto problems = [](const std::string& head, size_t inner, const std::string& indent = "") {
        const std::string body = head + "\n" + indent + "{\n" + std::string(inner, '\n') + indent + "}\n";
        return checkFunctions("x.cpp", body).size();
    };
    CHECK(problems("int f()", 58) == 0);
    CHECK(problems("int f()", 59) == 1);
    CHECK(problems("    void slot()", 59, "    ") == 1);
    CHECK(problems("    : m_x(x)", 59) == 1);
    CHECK(problems("class X final : public Y", 59) == 0);
    CHECK(checkFunctions(
              "x.cpp", "void f()\n{\n    if (x) {\n    }\n}\n\nint g()\n{\n" + std::string(70, '\n') + "}\n")
              .size()
        == 1);
    CHECK(checkFunctions("x.cpp", "void f()\n{\n").size() == 1); // not understood
}

TEST_CASE("one file of each room, and of each folder in one, says what it is for")
{
    std::map<std::string, size_t> comments;
    static const std::regex kSentence("(?:^|\n)// (?:Room|Folder) ([a-z0-9/_]+): ");
    for (const char* top : {"core", "app", "ui"})
        forEachSource(top, [&](const std::string& /*file*/, const std::string& text) {
            for (std::sregex_iterator at(text.begin(), text.end(), kSentence), end; at != end; ++at)
                ++comments[(*at)[1]];
        });
    for (const auto& [folder, room] : house().roomOf) {
        CAPTURE(folder);
        CHECK(comments[folder] == 1);
    }
}

TEST_CASE("no folder holds more than two dozen units")
{
    std::map<std::string, std::set<std::string>> units;
    for (const char* top : {"core", "app", "ui", "tests"})
        forEachSource(top, [&](const std::string& file, const std::string& /*text*/) {
            units[folderOf(file)].insert(fs::path(file).stem().string());
        });
    for (const auto& [folder, names] : units) {
        CAPTURE(folder);
        CHECK(names.size() <= kMaxUnits);
    }
    // A source folder that rooms.txt does not list would not be built.
    for (const auto& [folder, names] : units) {
        CAPTURE(folder);
        CHECK((topOf(folder) == "tests" || roomOf(folder + "/x.h")));
    }
}

TEST_CASE("the checker sees planted violations")
{
    for (const Planted& item : kPlanted) {
        CAPTURE(item.file);
        CAPTURE(item.line);
        CHECK(checkIncludes(
                  item.file, "// SPDX-License-Identifier: Apache-2.0\n" + std::string(item.line) + "\n")
                  .size()
            == item.problems);
    }

    const std::string licence = "// SPDX-License-Identifier: Apache-2.0\n";
    CHECK(checkForm("x.cpp", licence).empty());
    CHECK(checkForm("x.cpp", "#pragma once\n" + licence).size() == 1);
    CHECK(checkForm("x.cpp", licence + std::string(499, '\n')).empty());
    CHECK(checkForm("x.cpp", licence + std::string(500, '\n')).size() == 1);
}
