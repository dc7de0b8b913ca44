// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/s3_store.h"

#include "core/io/outage_watch.h"
#include "core/objects/s3/range_plan.h"
#include "core/objects/s3/request_signature.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shardscope::objects {

namespace {

constexpr uint64_t kListingBytes = uint64_t{16} << 20; ///< of one page
constexpr uint64_t kOneNameBytes = uint64_t{64} << 10; ///< of a page with one name
constexpr uint64_t kMostNameBytes = uint64_t{512} << 20; ///< of all names of one folder
constexpr size_t kMostNames = 1'000'000; ///< of one folder
constexpr size_t kPageNames = 1000;
constexpr size_t kMostPages = 10'000; ///< a store may fill them as it likes
constexpr size_t kRequestsAtOnce = 1024; ///< signed together, as a signature is good for some minutes

bool isGood(int status)
{
    return status >= 200 && status < 300;
}

/// Whether the bucket can be a part of a host name that a certificate has.
bool fitsHost(std::string_view bucket)
{
    return bucket.size() >= 3 && bucket.size() <= 63
        && bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

Error named(Error error, const ObjectPath& place)
{
    error.path = objectPath(place.bucket, place.key).string();
    return error;
}

/// With the path. What says nothing about the object is an outage: a store that cannot be reached, that
/// answers nonsense, or that has another object by now.
Error noted(Error error, const ObjectPath& place)
{
    error = named(std::move(error), place);
    if (error.code != ErrorCode::NotFound && error.code != ErrorCode::Cancelled
        && error.code != ErrorCode::LimitExceeded)
        io::noteOutage(error, "s3");
    return error;
}

Result<ObjectVersion> versionIn(const HttpAnswer& answer, const ObjectPath& place)
{
    const std::string length = answer.header("content-length");
    const auto tag = parseTag(answer.header("etag"));
    const auto modified = parseTime(answer.header("last-modified"));
    const auto bytes = parseSize(length);
    if (!bytes || !modified || !tag)
        return forward(
            noted({ErrorCode::Hostile, "the object store gives no size, time or ETag of an object", {}, {}},
                place));
    return ObjectVersion{*bytes, *tag, *modified};
}

uint64_t nameBytes(const ListingPage& page)
{
    uint64_t out = 0;
    for (const ListingPage::File& file : page.files)
        out += file.name.size();
    for (const std::string& name : page.folders)
        out += name.size();
    return out;
}

Error elsewhere(const std::string& region, const std::string& asked)
{
    if (region.empty())
        return {ErrorCode::Unreadable, "the object store sends the request to another place", {},
            "check AWS_REGION and AWS_ENDPOINT_URL_S3"};
    return {ErrorCode::Unreadable, "the bucket is in the region " + region + ", not in " + asked, {},
        "set AWS_REGION=" + region + " and start the program again"};
}

bool isRefusal(int status)
{
    return status == 400 || status == 401 || status == 403; // Amazon answers 400 to a token that is expired
}

/// Whether other keys may help.
bool areKeysRefused(const HttpAnswer& answer)
{
    constexpr std::array<std::string_view, 4> kCodes{
        "ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"};
    return isRefusal(answer.status)
        && std::ranges::find(kCodes, parseStoreError(answer.body).code) != kCodes.end();
}

Hint noKeys()
{
    return "no keys were found, so the request was not signed; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
           "AWS_SECRET_ACCESS_KEY (roles of a machine or container are not read)";
}

Error changed(const ObjectPath& place)
{
    return noted(
        {ErrorCode::SourceChanged, "the object has changed since it was opened", {}, "run the command again"},
        place);
}

} // namespace

S3Store::S3Store(StoreSettings settings, std::unique_ptr<HttpClient> client,
    std::function<Result<StoreSettings>()> readAgain)
    : m_settings(std::move(settings))
    , m_hasKeys(m_settings.keys.has_value())
    , m_client(std::move(client))
    , m_readAgain(std::move(readAgain))
    , m_keys(std::exchange(m_settings.keys, std::nullopt))
{
}

HttpRequest S3Store::request(const ObjectPath& place, const std::string& query) const
{
    std::string base = m_settings.endpoint;
    bool isInHost = m_settings.bucketInHost;
    if (base.empty()) {
        base = "https://s3." + m_settings.region + ".amazonaws.com";
        if (m_settings.region.starts_with("cn-"))
            base += ".cn";
        isInHost = true;
    }
    HttpRequest out;
    if (isInHost && fitsHost(place.bucket))
        out.url = base.insert(base.find("://") + 3, place.bucket + ".");
    else
        out.url = base + "/" + uriEncoded(place.bucket, false);
    if (!place.key.empty())
        out.url += "/" + uriEncoded(place.key, true);
    else if (isInHost && fitsHost(place.bucket))
        out.url += "/";
    if (!query.empty())
        out.url += "?" + query;
    return out;
}

std::vector<HttpAnswer> S3Store::askSigned(
    std::span<const HttpRequest> requests, const std::optional<StoreKeys>& keys)
{
    if (!keys)
        return m_client->ask(requests);
    std::vector<HttpRequest> sent(requests.begin(), requests.end());
    for (HttpRequest& one : sent) {
        const size_t host = one.url.find("://") + 3;
        const std::string name = one.url.substr(host, one.url.find('/', host) - host);
        sign(one, name, m_settings.region, *keys, std::chrono::system_clock::now());
    }
    return m_client->ask(sent);
}

std::vector<HttpAnswer> S3Store::ask(std::vector<HttpRequest>& requests)
{
    std::vector<HttpAnswer> out;
    for (size_t at = 0; at < requests.size(); at += kRequestsAtOnce) {
        const auto some = std::span(requests).subspan(at, std::min(kRequestsAtOnce, requests.size() - at));
        const std::optional<StoreKeys> used = keys();
        std::vector<HttpAnswer> answers = askSigned(some, used);
        const bool isRefused = used && std::ranges::any_of(answers, areKeysRefused);
        const std::optional<StoreKeys> others = isRefused ? keysInPlaceOf(*used) : std::nullopt;
        std::vector<HttpRequest> again;
        std::vector<size_t> places;
        for (size_t i = 0; others && i < answers.size(); ++i) {
            if (!isRefusal(answers[i].status)) // an answer to HEAD has no more than its status
                continue;
            again.push_back(some[i]);
            places.push_back(i);
        }
        if (!again.empty()) {
            std::vector<HttpAnswer> second = askSigned(again, others);
            for (size_t k = 0; k < places.size(); ++k)
                answers[places[k]] = std::move(second[k]);
        }
        std::ranges::move(answers, std::back_inserter(out));
    }
    return out;
}

std::optional<StoreKeys> S3Store::keys()
{
    const std::lock_guard lock(m_mutex);
    return m_keys;
}

std::optional<StoreKeys> S3Store::keysInPlaceOf(const StoreKeys& refused)
{
    const std::lock_guard lock(m_mutex);
    if (m_keys != refused)
        return m_keys;
    const auto now = m_readAgain ? m_readAgain() : Result<StoreSettings>(StoreSettings());
    if (!now || !now->keys || now->keys == refused)
        return std::nullopt;
    m_keys = now->keys;
    return m_keys;
}

Error S3Store::refused(const std::string& code, const ObjectPath& place) const
{
    // Keys are read at the first question, and again when they are refused.
    Hint hint = "its owner must allow this account to list the bucket and to read the object";
    if (!m_hasKeys)
        hint = noKeys();
    else if (code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId")
        hint = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile; what changes in the files "
               "of the profile is read at the next try, and a variable when the program is started again";
    else if (code == "ExpiredToken" || code == "InvalidToken")
        hint = "renew the token with its keys: those in the files of the profile are read at the next try, "
               "and AWS_SESSION_TOKEN when the program is started again";
    else if (code == "InvalidObjectState")
        hint = "it is archived; restore it first";
    else if (code == "RequestTimeTooSkewed")
        hint = "set the clock of this machine";
    const Error out{ErrorCode::Unreadable,
        "the object store refuses access" + (code.empty() ? "" : " (" + code + ")"), {}, hint};
    // To one object, or for good: keys can expire while a checkpoint is read.
    const bool isOfObject = code.empty() || code == "AccessDenied" || code == "InvalidObjectState";
    return isOfObject ? named(out, place) : noted(out, place);
}

Error S3Store::error(const HttpAnswer& answer, const ObjectPath& place) const
{
    if (answer.failed)
        return noted(*answer.failed, place);
    const StoreError said = parseStoreError(answer.body);
    std::string region = answer.header("x-amz-bucket-region");
    if (region.empty())
        region = said.region;
    if (region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
        region.clear();
    const bool isMoved = answer.status >= 300 && answer.status < 400;
    const bool isOther = (answer.status == 400 || answer.status == 403) && !region.empty();
    if (isMoved || (isOther && region != m_settings.region))
        return noted(elsewhere(region, m_settings.region), place);
    if (answer.status == 404)
        return noted(
            {ErrorCode::NotFound,
                said.code == "NoSuchBucket" ? "there is no such bucket" : "there is no such object", {}, {}},
            place);
    const bool isOld = said.code == "ExpiredToken" || said.code == "InvalidToken"; // Amazon answers 400
    if (answer.status == 401 || answer.status == 403 || isOld)
        return refused(said.code, place);
    if (answer.status == 412)
        return changed(place);
    return noted({ErrorCode::Unreadable,
                     "the object store answers " + std::to_string(answer.status)
                         + (said.code.empty() ? "" : " (" + said.code + ")"),
                     {}, m_hasKeys ? Hint() : noKeys()},
        place);
}

HttpRequest S3Store::listing(const ObjectPath& folder, const std::string& token, size_t most) const
{
    // In the order in which they are signed.
    std::string query;
    if (!token.empty())
        query = "continuation-token=" + uriEncoded(token, false) + "&";
    query += "delimiter=%2F&encoding-type=url&list-type=2&max-keys=" + std::to_string(most);
    query += "&prefix=" + (folder.key.empty() ? "" : uriEncoded(folder.key + "/", false));
    HttpRequest out = request({folder.bucket, {}}, query);
    out.bodyLimit = most == 1 ? kOneNameBytes : kListingBytes;
    return out;
}

Result<ListingPage> S3Store::page(const ObjectPath& folder, const HttpAnswer& answer) const
{
    if (answer.failed || !isGood(answer.status))
        return forward(error(answer, folder));
    auto out = parseListing(answer.body, folder.key.empty() ? "" : folder.key + "/");
    if (!out)
        return forward(noted(out.error(), folder));
    return out;
}

Result<ObjectFolder> S3Store::buckets()
{
    std::vector<HttpRequest> one{request({}, {})};
    one.front().bodyLimit = kListingBytes;
    const HttpAnswer answer = ask(one).front();
    if (!answer.failed && isGood(answer.status)) {
        auto names = parseBuckets(answer.body);
        return names ? Result<ObjectFolder>(ObjectFolder{{}, std::move(*names)})
                     : forward(named(names.error(), {}));
    }
    // Amazon sends requests without keys to a page for people.
    const std::string code = parseStoreError(answer.body).code;
    const bool isKeyless = !m_hasKeys && !answer.failed && answer.status < 500;
    if (!isKeyless && (answer.status != 403 || (!code.empty() && code != "AccessDenied")))
        return forward(error(answer, {}));
    return forward(
        named({ErrorCode::Unreadable,
                  "the object store does not list its buckets" + (code.empty() ? "" : " (" + code + ")"), {},
                  isKeyless ? Hint(noKeys())
                            : Hint("the account needs the permission s3:ListAllMyBuckets; else name a "
                                   "bucket, `s3://BUCKET`")},
            {}));
}

Result<ObjectFolder> S3Store::list(const ObjectPath& folder)
{
    if (folder.bucket.empty())
        return buckets();
    ObjectFolder out;
    std::string token;
    bool isThere = folder.key.empty();
    size_t names = 0;
    uint64_t bytes = 0;
    size_t pages = 0;
    do {
        std::vector<HttpRequest> one{listing(folder, token, kPageNames)};
        SHARDSCOPE_TRY(ListingPage next, page(folder, ask(one).front()));
        const bool isStuck = !next.next.empty()
            && (next.next == token || (next.files.empty() && next.folders.empty() && !next.isThere));
        if (isStuck)
            return forward(
                noted({ErrorCode::Hostile, "the listing of the object store does not end", {}, {}}, folder));
        isThere = isThere || next.isThere;
        names += std::max<size_t>(next.files.size() + next.folders.size(), 1);
        bytes += nameBytes(next);
        if (names > kMostNames || bytes > kMostNameBytes || ++pages > kMostPages)
            return forward(noted(
                {ErrorCode::LimitExceeded,
                    "the folder has more than a million objects, 10,000 pages or 512 MiB of names", {}, {}},
                folder));
        for (ListingPage::File& file : next.files)
            out.files.insert_or_assign(std::move(file.name), std::move(file.version));
        std::ranges::move(next.folders, std::back_inserter(out.folders));
        token = std::move(next.next);
    } while (!token.empty());
    if (!isThere)
        return forward(noted({ErrorCode::NotFound, "there is nothing of this name", {}, {}}, folder));
    std::erase_if(out.folders, [&](const std::string& name) { return out.files.contains(name); });
    std::ranges::sort(out.folders);
    const auto [first, last] = std::ranges::unique(out.folders);
    out.folders.erase(first, last);
    return out;
}

Result<FoundObject> S3Store::foundBy(
    const HttpAnswer& head, const HttpAnswer& listed, const ObjectPath& place) const
{
    if (!place.key.empty() && !head.failed && isGood(head.status)) {
        SHARDSCOPE_TRY(ObjectVersion version, versionIn(head, place));
        return FoundObject{place, std::move(version)};
    }
    // Its error says why access is refused, which an answer to HEAD cannot.
    SHARDSCOPE_TRY(const ListingPage below, page(place, listed));
    if (below.isThere || place.key.empty())
        return FoundObject{place, std::nullopt};
    if (head.failed || head.status != 404)
        return forward(error(head, place));
    return forward(named({ErrorCode::NotFound, "there is nothing of this name", {}, {}}, place));
}

std::vector<Result<FoundObject>> S3Store::look(std::span<const ObjectPath> places)
{
    // Both questions at the same time. For a bucket the first is one for its listing, too, and is not used.
    std::vector<HttpRequest> requests;
    requests.reserve(2 * places.size());
    for (const ObjectPath& place : places) {
        requests.push_back(request(place, {}));
        requests.back().isHead = true;
        requests.push_back(listing(place, {}, 1));
    }
    const std::vector<HttpAnswer> answers = ask(requests);
    std::vector<Result<FoundObject>> out;
    for (size_t i = 0; i < places.size(); ++i)
        out.push_back(foundBy(answers[2 * i], answers[2 * i + 1], places[i]));
    return out;
}

std::vector<Status> S3Store::read(std::span<const ObjectRange> ranges)
{
    std::vector<Status> out(ranges.size());
    std::vector<RangeRequest> plan = planRanges(ranges);
    std::vector<HttpRequest> requests;
    requests.reserve(plan.size());
    for (RangeRequest& one : plan) {
        HttpRequest asked = request(ranges[one.first].place, {});
        asked.headers = {{"if-match", "\"" + ranges[one.first].version.tag + "\""}, {"range", one.header()}};
        asked.out = one.into();
        requests.push_back(std::move(asked));
    }
    const std::vector<HttpAnswer> answers = ask(requests);
    for (size_t i = 0; i < plan.size(); ++i) {
        const ObjectRange& range = ranges[plan[i].first];
        const HttpAnswer& answer = answers[i];
        Status got;
        if (answer.failed || !isGood(answer.status))
            got = answer.status == 404 || answer.status == 416 ? forward(changed(range.place))
                                                               : forward(error(answer, range.place));
        else if (parseTag(answer.header("etag")) != range.version.tag)
            got = forward(changed(range.place));
        else if (!plan[i].isAnsweredBy(answer, range.version.bytes))
            got = forward(
                noted({ErrorCode::Hostile, "the object store sends another range than was asked for", {}, {}},
                    range.place));
        plan[i].finish(got, out);
    }
    return out;
}

} // namespace shardscope::objects
