// SPDX-License-Identifier: Apache-2.0
// The rooms of the source and what each may include: rooms.txt, where a room includes itself and rooms above
// its line. mayInclude() adds limits for core/compute, app and ui.
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

/// The paths in rooms.txt, in order.
const std::vector<std::string>& rooms()
{
    static const std::vector<std::string> kRooms = [] {
        std::vector<std::string> out;
        std::ifstream stream(fs::path(shardscope::sourceFolder()) / "rooms.txt");
        for (std::string line; std::getline(stream, line);) {
            if (!line.empty() && line.front() != '#')
                out.push_back(line.substr(0, line.find(' ')));
        }
        return out;
    }();
    return kRooms;
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

/// Position of a file's folder in rooms(); their number for a folder that is not among them.
size_t levelOf(const std::string& path)
{
    return static_cast<size_t>(std::find(rooms().begin(), rooms().end(), folderOf(path)) - rooms().begin());
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

/// Of LibTorch and CUDA.
bool isComputeHeader(const std::string& header)
{
    static const std::regex kPattern("(ATen|c10|torch)/.*|cuda[a-z_]*\\.h|math_constants\\.h");
    return std::regex_match(header, kPattern);
}

bool isModule(const std::string& path)
{
    return isIn(path, "core/compute/torch") || isIn(path, "core/compute/cuda");
}

bool mayInclude(const std::string& file, const std::string& header)
{
    if (levelOf(file) >= rooms().size() || levelOf(header) > levelOf(file))
        return false;
    if (isModule(file))
        return folderOf(file) == folderOf(header) || !isModule(header);
    if (isModule(header))
        return false;
    return topOf(file) != "ui" || topOf(header) != "app";
}

/// What is wrong with the includes of one file; `file` is its path from the root of the tree.
Problems checkIncludes(const std::string& file, const std::string& text)
{
    static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
    const bool isHeader = file.ends_with(".h");
    const bool isWithoutQt = file.starts_with("core/") || file.starts_with("app/cli/");
    Problems problems;
    std::istringstream lines(text);
    std::string line;
    for (size_t number = 1; std::getline(lines, line); ++number) {
        std::smatch match;
        if (!std::regex_search(line, match, kInclude))
            continue;
        const std::string header = match[2];
        const auto complain = [&](const std::string& why) {
            problems.push_back(file + ":" + std::to_string(number) + ": " + header + " " + why);
        };
        if (isWithoutQt && isQtHeader(header))
            complain("is a Qt header");
        else if (isComputeHeader(header) && !isIn(file, "core/compute"))
            complain("belongs into a compute module");
        else if (match[1] == "\"" && !mayInclude(file, header))
            complain("is not in a room above this one in rooms.txt, or not spelled from the root");
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
    {"core/layout/x.h", "  #  include \"core/compare/digest/state_digest.h\"", 1},
    {"core/plan/model/x.h", "#include \"core/plan/emit/target_files.h\"", 1},
    {"core/plan/emit/x.h", "#include \"core/plan/model/write_plan.h\"", 0},
    {"core/doctor/x.h", "#include \"core/doctor/diagnoses/x.h\"", 1},
    {"core/tensor/x.cpp", "#include \"core/compute/cuda/gpu.h\"", 1},
    {"core/plan/emit/x.cpp", "#include \"core/compute/cuda/gpu.h\"", 1},
    {"core/tensor/x.cpp", "#include <ATen/ATen.h>", 1},
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
    {"core/plan/x.cpp", "#include \"core/base/result.h\"", 1}, // no room
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
    {"app/cli/frame/x.cpp", "#include \"app/cli/verbs/verbs.h\"", 1},
    {"app/cli/x.cpp", "#include \"ui/shell/main_window.h\"", 1},
    {"app/cli/x.cpp", "#include \"app/gui/main.h\"", 1},
    {"app/cli/x.cpp", "#include <QCoreApplication>", 1},
    {"app/cli/x.cpp", "#include <CLI/CLI.hpp>", 0},
    {"app/cli/x.h", "#include <CLI/CLI.hpp>", 1},
    {"app/gui/main.cpp", "#include \"ui/shell/main_window.h\"", 0},
    {"app/gui/main.cpp", "#include \"app/cli/run.h\"", 0},
    {"app/gui/main.cpp", "#include <QApplication>", 0},
    {"app/gui/main.cpp", "#include \"tests/support/x.h\"", 1},
    {"core/io/x.cpp", "// #include \"ui/shell/main_window.h\" is not an include", 0},
};

} // namespace

TEST_CASE("every include names a room of the same or a lower line")
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

TEST_CASE("one file of each room says what the room is for")
{
    std::map<std::string, size_t> comments;
    for (const char* top : {"core", "app", "ui"})
        forEachSource(top, [&](const std::string& file, const std::string& text) {
            const std::string room = folderOf(file);
            comments[room] += text.find("\n// Room " + room + ": ") != std::string::npos ? 1 : 0;
        });
    for (const std::string& room : rooms()) {
        CAPTURE(room);
        if (comments.contains(room))
            CHECK(comments[room] == 1);
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
        CHECK((topOf(folder) == "tests" || levelOf(folder + "/x.h") < rooms().size()));
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
