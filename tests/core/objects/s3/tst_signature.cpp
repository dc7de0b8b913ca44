// SPDX-License-Identifier: Apache-2.0
// Signatures as Amazon's documentation computes them ("Signature Calculations for the Authorization Header",
// examples of the S3 API reference).
#include "core/objects/s3/request_signature.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace shardscope {

using objects::HttpRequest;

namespace {

const objects::StoreKeys kKeys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
constexpr const char* kHost = "examplebucket.s3.amazonaws.com";
const auto kTime = std::chrono::system_clock::from_time_t(1369353600); // 2013-05-24T00:00:00Z

std::string signatureOf(HttpRequest request, const objects::StoreKeys& keys = kKeys)
{
    objects::sign(request, kHost, "us-east-1", keys, kTime);
    const auto header
        = std::ranges::find(request.headers, "authorization", [](const auto& one) { return one.first; });
    REQUIRE(header != request.headers.end());
    return header->second;
}

} // namespace

TEST_CASE("signature of a range of an object")
{
    HttpRequest request;
    request.url = std::string("https://") + kHost + "/test.txt";
    request.headers = {{"range", "bytes=0-9"}};
    CHECK(signatureOf(request)
        == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
           "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
           "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_CASE("signature of a listing")
{
    HttpRequest request;
    request.url = std::string("https://") + kHost + "/?max-keys=2&prefix=J";
    CHECK(signatureOf(request).ends_with(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
    request.url = std::string("https://") + kHost + "/?lifecycle=";
    CHECK(signatureOf(request).ends_with(
        "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST_CASE("a session is signed with its token, and a secret is in no header")
{
    HttpRequest request;
    request.url = std::string("https://") + kHost + "/test.txt";
    objects::StoreKeys keys = kKeys;
    keys.session = "token";
    CHECK(signatureOf(request, keys).find("x-amz-date;x-amz-security-token") != std::string::npos);
    objects::sign(request, kHost, "us-east-1", keys, kTime);
    for (const auto& [name, value] : request.headers)
        CHECK(value.find(kKeys.secret) == std::string::npos);
}

TEST_CASE("names in a URL")
{
    CHECK(objects::uriEncoded("a b/c+d~é%", true) == "a%20b/c%2Bd~%C3%A9%25");
    CHECK(objects::uriEncoded("a/b=", false) == "a%2Fb%3D");
}

} // namespace shardscope
