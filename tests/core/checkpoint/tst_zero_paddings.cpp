// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/zero_paddings.h"

#include <doctest/doctest.h>

using namespace shardscope;

namespace {

/// An optimizer file's mapping with the paddings of two groups.
PickleGraph optimizerPickle(size_t parameters, int64_t last)
{
    PickleBuilder builder;
    const NodeId wrapper = builder.dict();
    const NodeId paddings = builder.list();
    for (int group = 0; group < 2; ++group) {
        const NodeId list = builder.list();
        for (size_t i = 0; i < parameters; ++i)
            builder.append(list, builder.integer(group == 1 && i + 1 == parameters ? last : 0));
        builder.append(paddings, list);
    }
    builder.setItem(wrapper, builder.string("param_alignment_paddings"), paddings);
    builder.setItem(wrapper, builder.string("partition_count"), builder.integer(7));
    const NodeId root = builder.dict();
    builder.setItem(root, builder.string("optimizer_state_dict"), wrapper);
    return builder.finish(root);
}

size_t paddingGroups(const PickleGraph& graph)
{
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    CHECK(asInteger(graph, lookup(graph, wrapper, "partition_count")) == 7);
    const NodeId paddings = lookup(graph, wrapper, "param_alignment_paddings");
    REQUIRE(paddings != kNoNode);
    return sequenceItems(graph, paddings).size();
}

} // namespace

TEST_CASE("many zero paddings are dropped, and nothing else")
{
    const PickleGraph reduced = withoutZeroPaddings(optimizerPickle(1000, 0));
    CHECK(paddingGroups(reduced) == 0);
    CHECK(reduced.nodeCount() < 20);
}

TEST_CASE("paddings that say something, few ones and other pickles stay")
{
    CHECK(paddingGroups(withoutZeroPaddings(optimizerPickle(1000, 4))) == 2);
    CHECK(paddingGroups(withoutZeroPaddings(optimizerPickle(3, 0))) == 2);
    PickleBuilder builder;
    const NodeId root = builder.list();
    CHECK(withoutZeroPaddings(builder.finish(root)).nodeCount() == 1);
}
