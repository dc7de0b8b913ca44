// SPDX-License-Identifier: Apache-2.0
// The output must equal the reference writer's bytes (tests/interop compares with it) and read back.
#include "core/torchfile/formats/safetensors_file.h"
#include "core/torchfile/formats/safetensors_layout.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;

namespace {

SafetensorsLayout layoutOf(const std::vector<SafetensorsSpec>& tensors)
{
    const auto layout = SafetensorsLayout::make(tensors, {{"format", "pt"}});
    REQUIRE_MESSAGE(layout.has_value(), (layout ? "" : describe(layout.error())));
    return *layout;
}

} // namespace

TEST_CASE("a header has the bytes that the reference writer gives it")
{
    // As `safetensors.torch.save` of safetensors 0.8.0 wrote it.
    const auto layout = SafetensorsLayout::make(
        {{"\xC3\xBC\"\x01\x7F", DType::Float32, {}}, {"a", DType::Float32, {3}}}, {});
    REQUIRE(layout.has_value());
    CHECK(layout->header
        == std::string("x\0\0\0\0\0\0\0", 8)
            + "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"\xC3\xBC\\\"\\u0001\x7F\":{"
              "\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[12,16]}} ");
    CHECK(layout->totalBytes == layout->header.size() + 16);
    CHECK(SafetensorsLayout::make({}, {})->header == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST_CASE("a layout reads back, larger elements first, then by name")
{
    std::vector<SafetensorsSpec> tensors{{"flag", DType::Bool, {3}}, {"half", DType::Float16, {5}},
        {"b", DType::Float32, {2, 3}}, {"none", DType::Float32, {0, 4}}, {"a", DType::Float32, {}},
        {"wide", DType::Int64, {7}}, {"brain", DType::BFloat16, {1}}};
    const SafetensorsLayout layout = layoutOf(tensors);
    CHECK(layout.header.size() % 8 == 0);
    const auto header = parseSafetensors(std::string_view(layout.header).substr(8), layout.header.size(),
        layout.totalBytes - layout.header.size(), "made");
    REQUIRE_MESSAGE(header.has_value(), (header ? "" : describe(header.error())));
    REQUIRE(header->tensors.size() == tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        const SafeTensor& found = header->tensors[i];
        const SafetensorsSpec& meant = tensors[layout.order[i]];
        if (meant.shape == Shape{0, 4} || tensors[layout.order[i > 0 ? i - 1 : 0]].shape == Shape{0, 4})
            continue; // empty tensors have no visible order
        CHECK(found.name == meant.name);
        CHECK(found.dtype == meant.dtype);
        CHECK(found.shape == meant.shape);
        CHECK(found.byteOffset % itemSize(found.dtype) == 0);
    }
    std::vector<std::string> names;
    for (const uint32_t i : layout.order)
        names.push_back(tensors[i].name);
    CHECK(names == std::vector<std::string>{"wide", "a", "b", "none", "brain", "half", "flag"});
}

TEST_CASE("tensors that the format cannot hold are refused by name")
{
    const auto refused = [](SafetensorsSpec tensor) {
        const auto layout = SafetensorsLayout::make({std::move(tensor)}, {});
        REQUIRE_FALSE(layout.has_value());
        return layout.error();
    };
    const Error complexError = refused({"wave", DType::Complex64, {2}});
    CHECK(complexError.code == ErrorCode::Unsupported);
    CHECK(complexError.message.find("wave") != std::string::npos);
    CHECK(refused({"a\xFF", DType::Float32, {2}}).code == ErrorCode::Unsupported);
    CHECK(refused({"__metadata__", DType::Float32, {2}}).code == ErrorCode::Unsupported);
    CHECK(refused({"huge", DType::Float32, {uint64_t{1} << 40, uint64_t{1} << 40}}).code
        == ErrorCode::LimitExceeded);
}
