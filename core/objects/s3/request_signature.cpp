// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/request_signature.h"

#include "core/base/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace shardscope::objects {

namespace {

constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
constexpr const char* kNoBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string hmac(std::string_view key, std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned length = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
        reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data(), &length);
    return {reinterpret_cast<const char*>(out.data()), length};
}

std::string timeText(std::chrono::system_clock::time_point now)
{
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> out{};
    return {out.data(), std::strftime(out.data(), out.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

/// Path and query, each without what separates them.
std::pair<std::string, std::string> placeIn(const std::string& url)
{
    const size_t begin = std::min(url.find('/', url.find("://") + 3), url.size());
    const size_t question = std::min(url.find('?', begin), url.size());
    std::string path = url.substr(begin, question - begin);
    return {path.empty() ? "/" : path, question < url.size() ? url.substr(question + 1) : std::string()};
}

} // namespace

void sign(HttpRequest& request, const std::string& host, const std::string& region, const StoreKeys& keys,
    std::chrono::system_clock::time_point now)
{
    const std::string time = timeText(now);
    const std::string day = time.substr(0, 8);
    request.headers.emplace_back("x-amz-content-sha256", kNoBody);
    request.headers.emplace_back("x-amz-date", time);
    if (!keys.session.empty())
        request.headers.emplace_back("x-amz-security-token", keys.session);
    auto headers = request.headers;
    headers.emplace_back("host", host);
    std::ranges::sort(headers);
    std::string lines;
    std::string names;
    for (const auto& [name, value] : headers) {
        lines += name + ":" + value + "\n";
        names += (names.empty() ? "" : ";") + name;
    }
    const auto [path, query] = placeIn(request.url);
    const std::string canonical = std::string(request.isHead ? "HEAD" : "GET") + "\n" + path + "\n" + query
        + "\n" + lines + "\n" + names + "\n" + kNoBody;
    const std::string scope = day + "/" + region + "/s3/aws4_request";
    const std::string toSign = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256Of(canonical);
    std::string key = "AWS4" + keys.secret;
    for (const std::string& part : {day, region, std::string("s3"), std::string("aws4_request"), toSign})
        key = hmac(key, part);
    request.headers.emplace_back("authorization",
        "AWS4-HMAC-SHA256 Credential=" + keys.access + "/" + scope + ", SignedHeaders=" + names
            + ", Signature=" + Sha256::hexOf({reinterpret_cast<const uint8_t*>(key.data()), key.size()}));
}

std::string uriEncoded(std::string_view text, bool keepSlash)
{
    static constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (kPlain.find(c) != std::string_view::npos || (keepSlash && c == '/')) {
            out += c;
            continue;
        }
        out += '%';
        out += kDigits[byte >> 4];
        out += kDigits[byte & 15];
    }
    return out;
}

} // namespace shardscope::objects
