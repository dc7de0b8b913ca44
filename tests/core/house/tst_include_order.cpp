// SPDX-License-Identifier: Apache-2.0
// The arrows of the house: app → ui → core, and inside core each folder only to folders below it; compute,
// whose modules are loaded by hand, knows core/tensor and what is below, and nobody knows compute.
#include "tests/support/places.h"
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Problems = std::vector<std::string>;

constexpr std::array<std::string_view, 12> kCoreFolders{"base", "io", "tensor", "torchfile", "partition",
    "checkpoint", "layout", "compare", "doctor", "plan", "engine", "report"};
constexpr size_t kMaxLines = 500;

/// The first `count` folders of a path.
std::string folders(const std::string& path, size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count && end != std::string::npos; ++i)
        end = path.find('/', end == 0 ? 0 : end + 1);
    return end == std::string::npos ? std::string() : path.substr(0, end);
}

/// Position in kCoreFolders; their number for what is not among them.
size_t coreLevel(const std::string& path)
{
    const std::string folder = folders(path, 2);
    const auto found = std::find_if(kCoreFolders.begin(), kCoreFolders.end(),
        [&](std::string_view name) { return folder == "core/" + std::string(name); });
    return static_cast<size_t>(found - kCoreFolders.begin());
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

bool mayIncludeOwn(const std::string& file, const std::string& header)
{
    const std::string from = folders(file, 1);
    const std::string to = folders(header, 1);
    if (from == "core")
        return coreLevel(file) < kCoreFolders.size() && coreLevel(header) <= coreLevel(file);
    if (from == "compute")
        return folders(file, 2) == folders(header, 2) || coreLevel(header) <= coreLevel("core/tensor/");
    if (from == "ui")
        return to == "ui" || coreLevel(header) < kCoreFolders.size();
    if (from == "app" && folders(file, 2) == "app/cli")
        return folders(header, 2) == "app/cli" || coreLevel(header) < kCoreFolders.size();
    if (from == "app")
        return to == "app" || to == "ui" || coreLevel(header) < kCoreFolders.size();
    return false;
}

/// What is wrong with the includes of one file; `file` is its path from the root of the tree.
Problems checkIncludes(const std::string& file, const std::string& text)
{
    static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
    const bool isHeader = file.ends_with(".h");
    const bool isWithoutQt
        = file.starts_with("core/") || file.starts_with("compute/") || file.starts_with("app/cli/");
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
        else if (isComputeHeader(header) && !file.starts_with("compute/"))
            complain("belongs into a compute module");
        else if (match[1] == "\"" && !mayIncludeOwn(file, header))
            complain("is not below this folder, or not spelled from the root");
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

} // namespace

TEST_CASE("every include goes down the house")
{
    size_t core = 0;
    for (const char* top : {"core", "compute", "app", "ui"}) {
        const size_t count = forEachSource(
            top, [](const std::string& file, const std::string& text) { report(checkIncludes(file, text)); });
        if (top == std::string("core"))
            core = count;
    }
    CHECK(core > 20); // the tree was found
}

TEST_CASE("every source names its licence and stays short")
{
    for (const char* top : {"core", "compute", "app", "ui", "tests"})
        forEachSource(
            top, [](const std::string& file, const std::string& text) { report(checkForm(file, text)); });
}

TEST_CASE("the checker sees planted violations")
{
    struct Planted {
        const char* file;
        const char* line;
        size_t problems;
    };
    const Planted planted[] = {
        {"core/io/x.cpp", "#include \"core/base/result.h\"", 0},
        {"core/io/x.cpp", "#include \"core/io/file_system.h\"", 0},
        {"core/io/x.cpp", "#include \"core/checkpoint/checkpoint.h\"", 1},
        {"core/base/x.h", "#include \"core/io/file_system.h\"", 1},
        {"core/layout/x.h", "  #  include \"core/compare/state_digest.h\"", 1},
        {"core/tensor/x.cpp", "#include \"compute/cuda/gpu.h\"", 1},
        {"core/tensor/x.cpp", "#include <ATen/ATen.h>", 1},
        {"ui/views/x.cpp", "#include <cuda_runtime_api.h>", 1},
        {"compute/torch/x.cpp", "#include <ATen/ATen.h>", 0},
        {"compute/torch/x.cpp", "#include \"core/tensor/dtype.h\"", 0},
        {"compute/torch/x.cpp", "#include \"core/torchfile/torch_file.h\"", 1},
        {"compute/torch/x.cpp", "#include \"compute/cuda/gpu.h\"", 1},
        {"compute/cuda/x.cu", "#include \"compute/cuda/tiles.h\"", 0},
        {"compute/cuda/x.cpp", "#include <QString>", 1},
        {"core/report/x.cpp", "#include \"core/engine/execute.h\"", 0},
        {"core/report/x.cpp", "#include \"core/unknown/x.h\"", 1},
        {"core/unknown/x.cpp", "#include \"core/base/result.h\"", 1},
        {"core/plan/x.cpp", "#include \"app/cli/run.h\"", 1},
        {"core/plan/x.cpp", "#include \"ui/shell/main_window.h\"", 1},
        {"core/plan/x.cpp", "#include \"write_plan.h\"", 1},
        {"core/plan/x.cpp", "#include \"../base/result.h\"", 1},
        {"core/plan/x.cpp", "#include <QString>", 1},
        {"core/plan/x.cpp", "#include <QtCore/QString>", 1},
        {"core/plan/x.cpp", "#include \"qobject.h\"", 1},
        {"core/plan/x.cpp", "#include <nlohmann/json.hpp>", 0},
        {"core/plan/x.h", "#include <nlohmann/json.hpp>", 1},
        {"core/plan/x.h", "#include <queue>", 0},
        {"ui/shell/x.cpp", "#include <QString>", 0},
        {"ui/shell/x.cpp", "#include \"core/engine/execute.h\"", 0},
        {"ui/shell/x.cpp", "#include \"ui/models/table.h\"", 0},
        {"ui/shell/x.cpp", "#include \"app/cli/run.h\"", 1},
        {"ui/shell/x.cpp", "#include \"app/gui/main.h\"", 1},
        {"app/cli/x.cpp", "#include \"core/engine/execute.h\"", 0},
        {"app/cli/x.cpp", "#include \"app/cli/run.h\"", 0},
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
    for (const Planted& item : planted) {
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
