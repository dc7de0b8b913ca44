// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/support/pickle_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace std::string_literals;

namespace {

struct Parts {
    std::string type = "torch\nFloatStorage\n";
    std::string numel = "K\x0c";
    std::string offset = "K\x00"s;
    std::string sizes = "K\x03K\x04\x86";
    std::string strides = "K\x04K\x01\x86";
    std::string function = "_rebuild_tensor_v2";
    std::string dtype; ///< v3: the opcodes of the dtype
};

std::string text(std::string_view value)
{
    return "X" + std::string(1, static_cast<char>(value.size())) + "\0\0\0"s + std::string(value);
}

std::string tensorOf(const Parts& parts)
{
    return "ctorch._utils\n" + parts.function + "\n((" + text("storage") + "c" + parts.type + text("0")
        + text("cpu") + parts.numel + "tQ" + parts.offset + parts.sizes + parts.strides + "\x89"
        + "ccollections\nOrderedDict\n)R" + parts.dtype + "tR";
}

Result<TensorView> viewOf(const Parts& parts)
{
    const PickleGraph graph = fixture::parse("\x80\x02" + tensorOf(parts) + ".");
    CHECK(looksLikeTensor(graph, graph.root()));
    auto view = asTensor(graph, graph.root());
    if (view) // The views of the result die with the graph; the tests look at numbers only.
        view->storage.key = view->storage.location = {};
    return view;
}

/// The message of a tensor that is refused; empty when it is accepted.
std::string refusal(const Parts& parts)
{
    const auto view = viewOf(parts);
    if (view)
        return {};
    CHECK(view.error().code == ErrorCode::Damaged);
    return view.error().message;
}

bool contains(const std::string& haystack, std::string_view needle)
{
    return haystack.find(needle) != std::string::npos;
}

} // namespace

TEST_CASE("a plain tensor has the shape, strides and storage that its call names")
{
    const auto view = viewOf({});
    REQUIRE(view);
    CHECK(view->dtype == DType::Float32);
    CHECK(view->sizes == Shape{3, 4});
    CHECK(view->strides == std::vector<uint64_t>{4, 1});
    CHECK(view->storage.elements == 12);
    CHECK(view->isContiguous());
    CHECK(!view->requiresGrad);
}

TEST_CASE("T02: invalid counts are refused")
{
    for (const std::string& numel : {"J\xFF\xFF\xFF\xFF"s, "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00"s,
             "G\x40\x28\x00\x00\x00\x00\x00\x00"s, "\x88"s, "N"s}) {
        Parts parts;
        parts.numel = numel;
        CHECK(contains(refusal(parts), "storage is not"));
    }
    Parts parts;
    parts.numel = "\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"; // 2^63 - 1 floats
    CHECK(contains(refusal(parts), "does not fit 64 bits"));
}

TEST_CASE("T03: views beyond their storage, overflow and negative numbers are refused")
{
    Parts parts;
    parts.offset = "K\x01";
    CHECK(contains(refusal(parts), "reaches beyond its storage of 48 bytes"));
    parts = {};
    parts.strides = "K\x05K\x01\x86";
    CHECK(contains(refusal(parts), "reaches beyond"));
    parts = {};
    parts.sizes = "J\xFF\xFF\xFF\xFFK\x04\x86";
    CHECK(contains(refusal(parts), "not counts"));
    parts = {};
    parts.strides = "J\xFF\xFF\xFF\xFFK\x04\x86";
    CHECK(contains(refusal(parts), "not counts"));
    parts = {};
    parts.offset = "J\xFF\xFF\xFF\xFF";
    CHECK(contains(refusal(parts), "offset"));
    parts = {};
    parts.sizes = "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40\x86"s;
    CHECK(contains(refusal(parts), "does not fit 64 bits"));
    parts = {};
    parts.sizes = "K\x02K\x02\x86";
    parts.strides = "\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x8a\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\x86";
    CHECK(contains(refusal(parts), "reaches beyond"));
    parts = {};
    parts.sizes = "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x10K\x01\x86"s; // a 2^60-element tensor
    CHECK(contains(refusal(parts), "reaches beyond"));
}

TEST_CASE("T04: sizes and strides must match and have at most 64 dimensions")
{
    Parts parts;
    parts.strides = "K\x01\x85";
    CHECK(contains(refusal(parts), "2 sizes and 1 strides"));
    std::string ones = "(";
    for (int i = 0; i < 65; ++i)
        ones += "K\x01";
    parts = {};
    parts.sizes = parts.strides = ones + "t";
    CHECK(contains(refusal(parts), "65 dimensions"));
    parts.sizes = parts.strides = ones.substr(0, ones.size() - 2) + "t";
    CHECK(refusal(parts).empty());
}

TEST_CASE("T05 T15: stride 0, no elements, no dimensions and odd strides of size 1 are valid")
{
    Parts parts;
    parts.numel = "K\x01";
    parts.sizes = "\x8a\x06\x00\x10\xa5\xd4\xe8\x00\x85"s; // 10^12 elements over one
    parts.strides = "K\x00\x85"s;
    const auto expanded = viewOf(parts);
    REQUIRE(expanded);
    CHECK(expanded->elements() == 1000000000000u);
    CHECK(!expanded->isContiguous());
    parts.sizes = parts.strides = ")";
    const auto scalar = viewOf(parts);
    REQUIRE(scalar);
    CHECK(scalar->elements() == 1);
    CHECK(scalar->isContiguous());
    parts.numel = "K\x00"s;
    parts.sizes = "K\x02K\x00K\x03\x87"s;
    parts.strides = "K\x03K\x03K\x01\x87";
    const auto none = viewOf(parts);
    REQUIRE(none);
    CHECK(none->elements() == 0);
    CHECK(none->isContiguous());
    parts.numel = "K\x03";
    parts.sizes = "K\x01K\x03\x86";
    parts.strides = "K\x63K\x01\x86";
    const auto odd = viewOf(parts);
    REQUIRE(odd);
    CHECK(odd->isContiguous());
}

TEST_CASE("T06: a key with two types or two sizes makes its tensors invalid, all of them")
{
    Parts other;
    other.numel = "K\x0d";
    const std::string stream = "\x80\x02(" + tensorOf({}) + tensorOf({}) + tensorOf(other) + "l.";
    const auto parsed = fixture::tryParse(stream);
    REQUIRE(parsed);
    for (const NodeId tensor : parsed->graph.items(parsed->graph.root()))
        CHECK(contains(asTensor(parsed->graph, tensor).error().message, "two types or two sizes"));
    REQUIRE(parsed->findings.size() == 1);
    CHECK(parsed->findings[0].code == code::kTensorInvalid);
    const PickleGraph same = fixture::parse("\x80\x02(" + tensorOf({}) + tensorOf({}) + "l.");
    CHECK(asTensor(same, same.items(same.root())[1]).has_value());
}

TEST_CASE("T12 T13: version 3 counts the storage in bytes and keeps unknown dtypes")
{
    Parts parts;
    parts.function = "_rebuild_tensor_v3";
    parts.type = "torch.storage\nUntypedStorage\n";
    parts.numel = "K\x18";
    parts.dtype = "ctorch\nuint16\n";
    const auto view = viewOf(parts);
    REQUIRE(view);
    CHECK(view->dtype == DType::UInt16);
    parts.numel = "K\x17";
    CHECK(contains(refusal(parts), "reaches beyond its storage of 23 bytes"));
    parts.dtype = "ctorch\nfloat3\n";
    CHECK(viewOf(parts)->dtype == DType::Unknown);
    parts.dtype = "cevil\nuint16\n";
    CHECK(contains(refusal(parts), "dtype"));
    parts.dtype = {};
    CHECK(!refusal(parts).empty());
}

TEST_CASE("torch's own model file: parameters, attributes, views and every dtype")
{
    const PickleGraph graph = fixture::parse(fixture::readPickle("model_states"));
    const NodeId root = graph.root();
    const auto parameter = asTensor(graph, lookup(graph, root, "parameter"));
    REQUIRE(parameter);
    CHECK(parameter->requiresGrad);
    CHECK(parameter->sizes == Shape{2, 2});
    CHECK(asInteger(graph, lookup(graph, parameter->attributes, "ds_id")) == 7);
    const auto tied = graph.items(lookup(graph, root, "tied"));
    REQUIRE(tied.size() == 5);
    CHECK(tied[0] == tied[1]);
    CHECK(asTensor(graph, tied[2])->storageOffset == 2);
    CHECK(asTensor(graph, tied[2])->storage.key == asTensor(graph, tied[0])->storage.key);
    CHECK(!asTensor(graph, tied[3])->isContiguous());
    CHECK(asTensor(graph, tied[4])->strides == std::vector<uint64_t>{1, 5});
    CHECK(asTensor(graph, lookup(graph, root, "scalar"))->sizes.empty());
    CHECK(asTensor(graph, lookup(graph, root, "empty"))->elements() == 0);
    const std::vector<DType> kinds{DType::Float64, DType::Float16, DType::BFloat16, DType::Int64,
        DType::Int32, DType::Int16, DType::Int8, DType::UInt8, DType::Bool, DType::Complex64,
        DType::Complex128, DType::UInt16, DType::Float8E4M3, DType::Float8E5M2};
    const auto tensors = graph.items(lookup(graph, root, "kinds"));
    REQUIRE(tensors.size() == kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i)
        CHECK(asTensor(graph, tensors[i])->dtype == kinds[i]);
    const NodeId shapes = graph.items(lookup(graph, root, "param_shapes"))[0];
    CHECK(isMapping(graph, shapes));
    CHECK(asShape(graph, lookup(graph, shapes, "0.weight")) == Shape{2, 3});
    const auto args = asObject(graph, lookup(graph, root, "args"));
    REQUIRE(args);
    CHECK(args->className == "Namespace");
    CHECK(asString(graph, lookup(graph, args->attributes, "name")) == "modèle");
    CHECK(nodeText(graph, lookup(graph, root, "scalar")) == "<tensor float32 ()>");
    CHECK(nodeText(graph, lookup(graph, root, "dtypes")) == "[torch.float16, torch.bfloat16]");
    CHECK(nodeText(graph, lookup(graph, shapes, "0.weight")) == "(2, 3)");
    CHECK(!looksLikeTensor(graph, lookup(graph, root, "args")));
    CHECK(!asTensor(graph, kNoNode));
}

TEST_CASE("DeepSpeed's own optimizer file: scaler, stage and fragments")
{
    const auto parsed = fixture::tryParse(fixture::readPickle("optimizer_states"));
    REQUIRE(parsed);
    CHECK(parsed->findings.empty());
    const PickleGraph& graph = parsed->graph;
    const NodeId state = lookup(graph, graph.root(), "optimizer_state_dict");
    const auto scaler = asObject(graph, lookup(graph, state, "loss_scaler"));
    REQUIRE(scaler);
    CHECK(scaler->module == "deepspeed.runtime.fp16.loss_scaler");
    CHECK(scaler->className == "DynamicLossScaler");
    CHECK(asNumber(graph, lookup(graph, scaler->attributes, "cur_scale")) == 65536.0);
    CHECK(asEnumValue(
              graph, lookup(graph, state, "zero_stage"), "deepspeed.runtime.zero.config", "ZeroStageEnum", {})
        == 2);
    const NodeId mapping = graph.items(lookup(graph, state, "param_slice_mappings"))[0];
    const auto fragment = asObject(graph, lookup(graph, mapping, "0.bias"));
    REQUIRE(fragment);
    CHECK(fragment->className == "fragment_address");
    CHECK(asInteger(graph, lookup(graph, fragment->attributes, "start")) == 6);
    const auto client = fixture::tryParse(fixture::readPickle("client_state"));
    REQUIRE(client);
    size_t opaque = 0;
    for (const Finding& finding : client->findings)
        opaque += finding.code == code::kPickleOpaque ? 1 : 0;
    CHECK(opaque > 5);
    CHECK(mappingItems(client->graph, lookup(client->graph, client->graph.root(), "counter")).size() == 6);
    CHECK(mappingItems(client->graph, lookup(client->graph, client->graph.root(), "default")).size() == 2);
}
