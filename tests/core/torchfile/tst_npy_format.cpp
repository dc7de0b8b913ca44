// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"
#include "core/torchfile/formats/npy_folder.h"
#include "core/torchfile/formats/npy_format.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>

using namespace shardscope;
using namespace shardscope::test;

TEST_CASE("a NumPy header as numpy writes it")
{
    // numpy.lib.format.write_array_header_1_0 for float32, shape (3, 4)
    const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10)
        + "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + std::string(58, ' ') + "\n";
    CHECK(npyHeader(DType::Float32, {3, 4}) == expected);
    CHECK(npyHeader(DType::Int64, {}).find("'shape': (), }") != std::string::npos);
    CHECK(npyHeader(DType::Bool, {7}).find("'descr': '|b1', 'fortran_order': False, 'shape': (7,), }")
        != std::string::npos);
    CHECK(npyHeader(DType::BFloat16, {7}).empty());
    // What numpy.save writes of arrays of ml_dtypes.bfloat16.
    CHECK(npyRawHeader(DType::BFloat16, {7}).find("{'descr': '<V2', 'fortran_order': False, 'shape': (7,), }")
        != std::string::npos);
    for (uint64_t n = 1; n < 1'000'000'000'000; n *= 7)
        CHECK(npyHeader(DType::Float64, {n, n}).size() % 64 == 0);
}

TEST_CASE("a NumPy header is read again, and other bytes are refused")
{
    for (const DType dtype : {DType::Float32, DType::Bool, DType::BFloat16, DType::Float8E5M2}) {
        for (const Shape& shape :
            {Shape{}, Shape{7}, Shape{3, 4}, Shape{0, 5}, Shape(64, 1'000'000'000'000)}) {
            const std::string text = npyRawHeader(dtype, shape);
            const auto header = parseNpyHeader(text + "elements", "a.npy");
            REQUIRE_MESSAGE(header.has_value(), (header ? "" : describe(header.error())));
            CHECK(header->shape == shape);
            CHECK(header->dataOffset == text.size());
            for (size_t cut = 0; cut < text.size(); cut += 7)
                CHECK(parseNpyHeader(text.substr(0, cut), "a.npy").error().code == ErrorCode::Damaged);
        }
    }
    const auto codeOf = [](const std::string& from, const std::string& to) {
        std::string text = npyHeader(DType::Float32, {3, 4});
        text.replace(text.find(from), from.size(), to);
        const auto header = parseNpyHeader(text, "a.npy");
        return header ? ErrorCode::Internal : header.error().code;
    };
    CHECK(codeOf("False, ", "True,  ") == ErrorCode::Unsupported);
    CHECK(codeOf("'<f4', ", "[('a', ") == ErrorCode::Unsupported);
    CHECK(codeOf("(3, 4)", "(3, x)") == ErrorCode::Damaged);
    CHECK(codeOf("(3, 4)", "(3, -4") == ErrorCode::Damaged);
    CHECK(codeOf("(3, 4)", "(3; 4)") == ErrorCode::Damaged);
    CHECK(codeOf("\x93", "x") == ErrorCode::Damaged);
    CHECK(codeOf("\x76", "\xff") == ErrorCode::Damaged); // a length beyond the file
}

TEST_CASE("names of tensors become names of files, and can be decoded again")
{
    const std::vector<std::string> names{"model.layers.0.weight", "a/b", "../up", ".hidden", "tab\there",
        std::string("nul\0byte", 8), "50%", "a~b", "größe", "con", "A.weight", "a.weight", "a.Weight",
        std::string(5000, 'x'), std::string(4999, 'x') + "y", std::string(300, '/')};
    const auto files = npyFileNames(names);
    REQUIRE(files.size() == names.size());
    CHECK(files[0] == "model.layers.0.weight");
    CHECK(files[1] == "a%2Fb");
    CHECK(files[2] == "%2E.%2Fup");
    CHECK(files[11].starts_with("a.weight~"));
    std::set<std::string> unlike;
    for (size_t i = 0; i < files.size(); ++i) {
        CAPTURE(files[i]);
        CHECK(files[i].size() <= 240);
        CHECK(files[i].find_first_of(std::string("/\\\0\t:*?\"<>|", 11)) == std::string::npos);
        CHECK(files[i].front() != '.');
        std::string lower = files[i];
        for (char& c : lower)
            c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        CHECK(unlike.insert(lower).second);
        if (files[i].find('~') == std::string::npos)
            CHECK(percentDecode(files[i]) == names[i]);
    }
}

TEST_CASE("the index of a folder of NumPy files must match the files' headers")
{
    const TemporaryFolder folder;
    const auto write = [&](const std::string& index) {
        spill(folder / "a.npy", npyHeader(DType::Float32, {2}) + "12345678");
        std::filesystem::create_directories(folder / "exp_avg");
        spill(folder / "exp_avg/a.npy", npyRawHeader(DType::BFloat16, {2}) + "1234");
        spill(folder / "index.json", index);
    };
    const auto entry = [](const char* dtype, const char* file, Shape shape) {
        return NpyTensor{std::string(file).starts_with("exp") ? "exp_avg" : "weight", file,
            {"a", *dtypeFromName(dtype), std::move(shape), 2, 0, 0}};
    };
    const auto textOf = [&](const NpyTensor& weight, const NpyTensor& state) {
        return npyIndexText(std::vector{weight, state});
    };
    const NpyTensor weight = entry("float32", "a.npy", {2});
    const NpyTensor state = entry("bfloat16", "exp_avg/a.npy", {2});
    const auto read = [&] {
        JobContext job;
        return readNpyFolder(io::realFileSystem(), folder.path(), job);
    };
    write(textOf(weight, state));
    const auto tensors = read();
    REQUIRE_MESSAGE(tensors.has_value(), (tensors ? "" : describe(tensors.error())));
    REQUIRE(tensors->size() == 2);
    CHECK(tensors->front().state == "weight");
    CHECK(tensors->front().tensor.bytes == 8);
    CHECK(tensors->back().state == "exp_avg");
    CHECK(tensors->back().tensor.dtype == DType::BFloat16);
    CHECK(tensors->back().tensor.byteOffset == npyRawHeader(DType::BFloat16, {2}).size());

    const auto refused = [&](const std::string& index, ErrorCode code) {
        write(index);
        const auto found = read();
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code == code);
    };
    refused(textOf(entry("float64", "a.npy", {2}), state), ErrorCode::Damaged);
    refused(textOf(entry("int32", "a.npy", {2}), state), ErrorCode::Damaged);
    refused(textOf(entry("float32", "a.npy", {1, 2}), state), ErrorCode::Damaged);
    refused(textOf(entry("float32", "b.npy", {2}), state), ErrorCode::NotFound);
    refused(textOf(entry("float32", "../a.npy", {2}), state), ErrorCode::Hostile);
    refused(textOf(entry("float32", "/a.npy", {2}), state), ErrorCode::Hostile);
    refused(textOf(entry("float32", "a/b/c.npy", {2}), state), ErrorCode::Hostile);
    refused("{}", ErrorCode::Damaged);
    refused("[1", ErrorCode::Damaged);
    refused(
        R"({"tensors": {"a": {"file": "a.npy", "dtype": "float32", "shape": [-2]}}})", ErrorCode::Damaged);
    refused(R"({"tensors": {"a": {"file": "a.npy", "dtype": "float31", "shape": [2]}}})", ErrorCode::Damaged);
    refused(R"({"tensors": {"a": 7}})", ErrorCode::Damaged);
    refused(R"({"tensors": {}, "states": 7})", ErrorCode::Damaged);
    write(textOf(weight, state));
    spill(folder / "a.npy", npyHeader(DType::Float32, {2}) + "1234567");
    CHECK(read().error().code == ErrorCode::Damaged);
}
