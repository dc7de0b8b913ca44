// SPDX-License-Identifier: Apache-2.0
#include "core/base/place.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

const std::string kOdd = "a#b!c[0]+d@e%41/f g";

} // namespace

TEST_CASE("every kind of place has the spelling of reports")
{
    CHECK(Place().text().empty());
    CHECK(Place("").isEmpty());
    CHECK(Place("zero/norm.weight/fp32.pt").text() == "zero/norm.weight/fp32.pt");
    CHECK(Place(ParamAddress{"norm.bias", "exp_avg"}).text() == "norm.bias#exp_avg");
    CHECK(Place(ParamAddress{"norm.bias", "fp32", std::pair{3, 9}}).text() == "norm.bias#fp32[3:9]");
    CHECK(Place(ParamAddress{"norm.bias"}).text() == "norm.bias");
    CHECK(Place(FlatAddress{{3, 0, 1}, true, 7, 40, "exp_avg"}).text() == "dp3.tp0.pp1/subgroup7+40@exp_avg");
    CHECK(Place(FlatAddress{{0, 2, 0}, false, 1, 0}).text() == "dp0.tp2.pp0/group1+0");
    CHECK(Place(FileAddress{"x.pt", "data/7", 5}).text() == "x.pt!data/7+5");
    CHECK(Place(FileAddress{"x.pt", "", 5}).text() == "x.pt+5");
    CHECK(Place(RecordPlace{"x.pt", "data/7"}).text() == "x.pt!data/7");
    CHECK(Place(RankCoordinate{2, 0, 0}).text() == "dp2.tp0.pp0");
}

TEST_CASE("a place keeps odd names apart, whatever its text looks like")
{
    const Place path(kOdd);
    CHECK(path.text() == kOdd);
    CHECK(path.file() == kOdd);
    CHECK(path.param() == nullptr);
    const Place param(ParamAddress{kOdd, "fp32"});
    CHECK(param.text() == "a%23b%21c%5B0%5D%2Bd%40e%2541/f g#fp32");
    CHECK(param.file().empty());
    CHECK(param.param()->name == kOdd);
    CHECK(Place(RecordPlace{kOdd, "data/0"}).file() == kOdd);
    CHECK(Place(FileAddress{kOdd, "", 1}).file() == kOdd);
    CHECK(*Place(FlatAddress{{1, 2, 3}, false, 0, 0}).rank() == RankCoordinate{1, 2, 3});
    CHECK(*Place(RankCoordinate{1, 2, 3}).rank() == RankCoordinate{1, 2, 3});
    CHECK(path.rank() == nullptr);
    CHECK(Place("dp0.tp0.pp0").rank() == nullptr); // a folder may have this name
    CHECK(!(Place("norm.bias#fp32") == Place(ParamAddress{"norm.bias", "fp32"})));
}

TEST_CASE("a place is read back from the text of a manifest")
{
    for (const Place& place : {Place(ParamAddress{kOdd, "exp_avg", std::pair{1, 2}}),
             Place(FlatAddress{{3, 0, 0}, false, 1, 9, "fp32"}), Place(FileAddress{kOdd, "data/3", 8}),
             Place("mp_rank_00_model_states.pt"), Place()})
        CHECK(Place::parsed(place.text()) == place);
}
