// SPDX-License-Identifier: Apache-2.0
// Differences as comma-separated rows.
#include "core/report/documents/diff_csv.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <sstream>

using namespace shardscope;

namespace {

/// The rows that `add` writes, without the header.
template <class Add>
std::vector<std::string> rowsOf(const Add& add)
{
    std::string text;
    DiffCsv csv([&](std::string_view part) { text += part; });
    add(csv);
    std::vector<std::string> rows;
    std::istringstream stream(text);
    for (std::string row; std::getline(stream, row);)
        rows.push_back(row);
    REQUIRE_FALSE(rows.empty());
    REQUIRE(rows.front().substr(0, 17) == "kind,param,state,");
    rows.erase(rows.begin());
    return rows;
}

ScalarDifference option(const std::string& name, const std::string& left, const std::string& right)
{
    ScalarDifference out;
    out.left.kind = ScalarKind::Option;
    out.left.group = 2;
    out.left.name = name;
    out.left.value = left;
    out.right.value = right;
    return out;
}

std::string scalarRow(const ScalarDifference& scalar)
{
    const auto rows = rowsOf([&](DiffCsv& csv) { csv.addScalar(scalar); });
    return rows.front();
}

} // namespace

TEST_CASE("every row has the columns of the header, and numbers as JSON spells them")
{
    ParamDifference param;
    param.param.name = "layers.0.weight";
    param.update = UpdateDifference{0.5, 0, std::numeric_limits<double>::infinity()};
    StateDifference state;
    state.state.left = "fp32";
    state.state.leftType = DType::Float32;
    state.state.rightType = DType::BFloat16;
    state.values.elements = (uint64_t{1} << 60) + 1;
    state.values.different = 3;
    state.values.firstDifferent = 7;
    state.values.maxAbsolute = 0.1;
    param.param.elements = 100;
    PartialState partial;
    partial.state.left = "exp_avg_sq";
    partial.notCompared = 25;
    std::string header;
    DiffCsv csv([&](std::string_view part) { header += part; });
    const size_t commas = static_cast<size_t>(std::count(header.begin(), header.end(), ','));
    const auto rows = rowsOf([&](DiffCsv& out) {
        out.addValues(param, state);
        out.addAlone(param, true, "exp_avg");
        out.addAlone(param, false, "");
        out.addShape(param);
        out.addScalar(option("lr", "0.1", ""));
        out.addPartial(param, partial);
    });
    REQUIRE(rows.size() == 6);
    for (const std::string& row : rows)
        CHECK(static_cast<size_t>(std::count(row.begin(), row.end(), ',')) == commas);
    CHECK(rows[0].find("dtype,layers.0.weight,fp32,false,1152921504606846977,3,0,0,0,7,0.1,") == 0);
    CHECK(rows[0].find(",float32,bfloat16,0.5,0.0,inf") != std::string::npos);
    CHECK(rows[1].find("only-right,layers.0.weight,exp_avg,") == 0);
    CHECK(rows[2].find("only-left,layers.0.weight,,") == 0);
    CHECK(rows[3].find("shape,layers.0.weight,,") == 0);
    CHECK(rows[4] == "option,,,,,,,,,,,,,group/2,lr,0.1,,,,,");
    CHECK(header.ends_with(",not_compared\n"));
    CHECK(rows[5].starts_with("incomplete-right,layers.0.weight,exp_avg_sq,,75,"));
    CHECK(rows[5].ends_with(",25"));
}

TEST_CASE("texts are quoted where needed, and are not read as formulas")
{
    CHECK(scalarRow(option("betas", "[0.9, 0.999]", "say \"hi\""))
        == "option,,,,,,,,,,,,,group/2,betas,\"[0.9, 0.999]\",\"say \"\"hi\"\"\",,,,");
    CHECK(scalarRow(option("a\nb", "x", "y")) == "option,,,,,,,,,,,,,group/2,\"a");
    CHECK(scalarRow(option("=1+1", "-1e-05", "-x")) == "option,,,,,,,,,,,,,group/2,'=1+1,-1e-05,'-x,,,,");
    CHECK(
        scalarRow(option(" @SUM(A1)", "+1 2", "-")) == "option,,,,,,,,,,,,,group/2,' @SUM(A1),'+1 2,'-,,,,");
    CHECK(scalarRow(option("\xFFq", "", "1")) == "option,,,,,,,,,,,,,group/2,\xEF\xBF\xBDq,,1,,,,");
}
