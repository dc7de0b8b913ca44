// SPDX-License-Identifier: Apache-2.0
#include "core/report/answers/show_report.h"

#include "core/base/text.h"
#include "core/report/answers/finding_report.h"
#include "core/report/text/printable.h"

#include <fmt/format.h>

namespace shardscope {

namespace {

bool isInteger(DType dtype)
{
    switch (dtype) {
    case DType::Int64:
    case DType::Int32:
    case DType::Int16:
    case DType::Int8:
    case DType::UInt8:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
        return true;
    default:
        return false;
    }
}

/// Integers and booleans exactly, floats as the exact double, complex and unknown ones as text.
void writeElement(JsonWriter& json, std::string_view dtypeText, DType dtype, const uint8_t* bytes)
{
    if (dtype == DType::Bool)
        json.value(bytes[0] != 0);
    else if (isInteger(dtype) && dtype == DType::UInt64)
        json.value(std::stoull(elementAsText(dtype, bytes)));
    else if (isInteger(dtype))
        json.value(static_cast<int64_t>(std::stoll(elementAsText(dtype, bytes))));
    else if (dtype == DType::Unknown || dtypeText.starts_with("complex"))
        json.value(elementAsText(dtype, bytes));
    else
        json.value(elementAsDouble(dtype, bytes));
}

template <class Visit>
void forEachValue(const ShownValues& values, const Visit& visit)
{
    const uint64_t item = itemSize(values.range.dtype);
    auto gap = values.missing.begin();
    for (uint64_t i = values.range.begin; i < values.range.end; ++i) {
        while (gap != values.missing.end() && i >= gap->second)
            ++gap;
        const bool isGap = gap != values.missing.end() && i >= gap->first;
        visit(i, isGap ? nullptr : values.bytes.data() + (i - values.range.begin) * item);
    }
}

} // namespace

void describe(auto& out, const NpyReport& npy)
{
    out.is("NpyFile", "The file of `npy`.");
    out.name("path", npy.path);
    out.field("dtype", dtypeName(npy.dtype));
    out.field("bytes", npy.bytes);
}

namespace {

void describeShow(
    auto& out, const AnswerContext& context, const ShownValues& values, const std::optional<NpyReport>& npy)
{
    const Parameter& parameter = context.checkpoint.params[index(values.range.param)];
    const std::string_view dtype = dtypeName(values.range.dtype);
    out.answer("show", "ShowAnswer", "Values of a parameter or of one of its states.");
    describeSubject(out, context);
    out.name("name", parameter.name);
    out.field("state", values.range.state);
    out.field("shape", parameter.shape);
    out.field("dtype", dtype);
    out.field("start", values.range.begin, "the first element of `values`");
    out.free(
        "values", As<std::vector<AnyScalar>>{},
        [&](JsonWriter& json) {
            json.beginArray();
            forEachValue(values, [&](uint64_t, const uint8_t* bytes) {
                if (bytes == nullptr)
                    json.null();
                else
                    writeElement(json, dtype, values.range.dtype, bytes);
            });
            json.endArray();
        },
        "numbers, \"nan\", \"inf\" and \"-inf\"; null where the file that holds it is missing or damaged");
    out.field("truncated", values.truncated);
    out.optional("npy", npy);
    out.field("findings", context.checkpoint.findings);
}

} // namespace

void writeShowJson(const TextSink& sink, const AnswerContext& context, const ShownValues& values,
    const std::optional<NpyReport>& npy)
{
    writeObject(sink, [&](JsonOut& out) { describeShow(out, context, values, npy); });
}

std::string showSchema()
{
    ShownValues values;
    values.range.param = ParamId{0};
    return schemaOf("show", [&](SchemaOut& out) { describeShow(out, schemaContext(), values, {}); });
}

void writeShowText(const TextSink& sink, const TextStyle& style, const AnswerContext& context,
    const ShownValues& values, const std::optional<NpyReport>& npy)
{
    const Parameter& parameter = context.checkpoint.params[index(values.range.param)];
    sink(style.bold(printable(parameter.name)) + " " + printable(values.range.state) + "  "
        + shapeText(parameter.shape) + " " + std::string(dtypeName(values.range.dtype)) + "\n");
    const uint64_t count = values.range.end - values.range.begin;
    sink(fmt::format("elements {} to {} of {}{}\n", values.range.begin, values.range.end,
        formatCount(parameter.elements), values.truncated ? ", shortened by --limit" : ""));
    using Align = TextTable::Align;
    TextTable table({{"element", Align::Right}, {"value", Align::Right}});
    forEachValue(values, [&](uint64_t element, const uint8_t* bytes) {
        table.add({std::to_string(element),
            bytes == nullptr ? "missing" : elementAsText(values.range.dtype, bytes)});
    });
    if (count > 0)
        table.write(sink, style);
    if (npy)
        sink(fmt::format("wrote {} ({}, {} bytes)\n", printable(npy->path), dtypeName(npy->dtype),
            formatCount(npy->bytes)));
}

} // namespace shardscope
