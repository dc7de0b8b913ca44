// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "core/layout/rank_load.h"
#include "ui/jobs/latest_only.h"
#include "ui/layoutmap/geometry/map_flow.h"
#include "ui/style/theme.h"

#include <QBoxLayout>
#include <QWidget>

class QComboBox;
class QLabel;
class QSplitter;

namespace shardscope::ui {

class ElidedLabel;
class LayoutMapView;
class RankChoices;
class ReshardBands;

/// The maps of a checkpoint before and after a reshard, one below the other in one scale, a row of at least
/// eight pixels for each rank. Bands lead from what is chosen in either map to where its elements are in the
/// other: from the fragment under the pointer, and without one from a parameter or a rank.
class ReshardMaps : public QWidget
{
    Q_OBJECT
public:
    /// One of the two checkpoints.
    struct Side {
        CheckpointPtr checkpoint; ///< null: an empty map
        MapLooksPtr looks; ///< of `checkpoint`
        QString title; ///< "Now: 4 GPUs"
        RankLoad load; ///< of `checkpoint`
    };

    ReshardMaps(const Theme& theme, QWidget* parent = nullptr);
    ~ReshardMaps() override;

    void setBefore(const Side& side);
    void setAfter(const Side& side);
    /// What is shown while nobody points at a map: the flow of this parameter or, if it is none, of this rank
    /// (rank_list.h) of the checkpoint before.
    void follow(ParamId param, std::optional<uint32_t> rank);

    /// Puts a button at the end of the line below the maps.
    void addButton(QWidget* button) { m_wordsRow->addWidget(button); }

    /// The bands on screen; empty if there are none.
    [[nodiscard]] const std::optional<MapFlow>& flow() const;
    /// Where the elements go, in words.
    [[nodiscard]] QString flowText() const;
    /// A flow is being computed.
    [[nodiscard]] bool isBusy() const { return m_flower.isRunning(); }

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    /// A parameter or rank of one of the maps.
    struct Followed {
        LayoutMapView* map = nullptr;
        ParamId param = kNoParam;
        std::optional<uint32_t> rank;
    };

    QWidget* makePane(LayoutMapView* map, QLabel* title);
    void makeWordsRow();
    void setSide(LayoutMapView* map, QLabel* title, const Side& side);
    /// Large maps are made on a worker, and are shown when they are ready.
    void takeNewMaps();
    [[nodiscard]] bool hasNewMaps() const;
    void useOneScale();
    void onPlace(LayoutMapView* map);
    void followRow(LayoutMapView* map, uint32_t section, uint32_t row);
    void setFollowed(const Followed& followed);
    void onChosen(int row);
    void fillRanks();
    void showWordsRow();
    [[nodiscard]] int rowOfFollowed() const;
    void showChosen();
    /// `first`: the map that is asked first for what the pointer is over.
    void updateFlow(LayoutMapView* first);
    void computeFlow();
    void showFlow(const std::optional<MapFlow>& flow, LayoutMapView* from, bool isFaint);
    [[nodiscard]] LayoutMapView* otherThan(const LayoutMapView* map) const;
    [[nodiscard]] QString describe(const MapFlow& flow, const LayoutMapView& map) const;

    LayoutMapView* m_before;
    LayoutMapView* m_after;
    QLabel* m_beforeTitle;
    QLabel* m_afterTitle;
    QLabel* m_says;
    RankChoices* m_choices;
    QComboBox* m_what;
    ElidedLabel* m_words;
    QBoxLayout* m_wordsRow;
    ReshardBands* m_bands;
    QSplitter* m_split;
    bool m_isSplitByUser = false;
    Followed m_followed;
    MapStackPtr m_shownBefore; ///< what the list of ranks and the scale are made for
    MapStackPtr m_shownAfter;
    LatestOnly m_flower{WorkLength::Short};
};

} // namespace shardscope::ui
