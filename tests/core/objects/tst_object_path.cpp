// SPDX-License-Identifier: Apache-2.0
#include "core/far/far_path.h"
#include "core/objects/object_path.h"

#include <doctest/doctest.h>

namespace shardscope {

using objects::isObject;
using objects::objectPathOf;

TEST_CASE("paths of object stores: a bucket and a key")
{
    const auto whole = objectPathOf("s3://my-bucket/runs/llama");
    REQUIRE(whole);
    CHECK(whole->bucket == "my-bucket");
    CHECK(whole->key == "runs/llama");
    CHECK(objectPathOf("s3://b.c_D-9")->key.empty());
    CHECK(objectPathOf("s3://bucket/")->key.empty());
    CHECK(objectPathOf("s3://bucket/runs/")->key == "runs");
    CHECK(objectPathOf("s3://bucket/a b/c+d%20é")->key == "a b/c+d%20é");
    CHECK(objects::objectPath("bucket", "a/b") == io::Path("s3://bucket/a/b"));
    CHECK(objects::objectPath("bucket", "") == io::Path("s3://bucket"));
}

TEST_CASE("paths of object stores keep their spelling among other paths")
{
    const io::Path run = "s3://bucket/runs/llama";
    CHECK((run / "global_step3").native() == "s3://bucket/runs/llama/global_step3");
    CHECK(run.parent_path().native() == "s3://bucket/runs");
    CHECK(isObject(run.parent_path().parent_path()));
    CHECK_FALSE(isObject(run.parent_path().parent_path().parent_path()));
}

TEST_CASE("what is no place in an object store is refused, and is no path of this machine either")
{
    for (const char* text : {"s3://", "s3:///key", "s3://-b/k", "s3://.b/k", "s3://b@c/k", "s3://b:80/k",
             "s3://b/a//c", "s3://b/../c", "s3://b/a/./c", "s3://b/a/.."}) {
        CAPTURE(text);
        REQUIRE(isObject(text));
        const auto place = objectPathOf(text);
        REQUIRE_FALSE(place);
        CHECK(place.error().code == ErrorCode::Usage);
        CHECK(place.error().path == text);
    }
    CHECK_FALSE(objectPathOf(io::Path("s3://b") / std::string(1100, 'k')));
}

TEST_CASE("object stores are no hosts, and hosts no object stores")
{
    for (const char* text : {"s3:/runs", "s3:runs", "s3", "./s3://bucket", "/s3://bucket", "gs://bucket"}) {
        CAPTURE(text);
        CHECK_FALSE(isObject(text));
    }
    CHECK_FALSE(far::isFar("s3://bucket/key"));
    CHECK(far::isElsewhere("s3://bucket/key"));
    CHECK(far::isElsewhere("node7:/runs"));
    CHECK_FALSE(far::isElsewhere("/runs"));
    CHECK(far::typedPath("s3://bucket/key") == "s3://bucket/key");
}

} // namespace shardscope
