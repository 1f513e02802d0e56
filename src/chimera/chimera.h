// The public interface of Chimera's library. Start here: each header below does
// one thing, and they are listed in the order in which data passes through
// them. docs/library.md shows how to build with the package and says what is
// stable.
//
//   schedule/scheme.h     make_schedule(): a ScheduleSpec becomes a Schedule
//   schedule/validate.h   validate(): proves a schedule, or lists all mistakes
//   schedule/lower.h      lower(): adds messages, all-reduces and updates
//   schedule/forms.h      text, JSON and CSV forms, in both directions
//   simulate/simulate.h   simulate(): a schedule and its Costs become a Trace
//   search/search_order.h make_order(): the best order for given costs
//   report/text.h, svg.h  draw a Trace
//   config/parse.h        parse_run_config(): run.toml becomes a RunConfig
//   plan/planner.h        make_plans(): the fastest layouts for a model
//
// These need torch and are not included below:
//
//   run/run.h             run(): trains what a RunConfig describes
//   model/module_layer.h  torch::nn::Modules as layers
//   train/train.h         train(): set_up() and train() for one's own layers
//   train/verify.h        verify(): compares gradients with the unsplit model's
#pragma once

#include "chimera/base/result.h"
#include "chimera/config/parse.h"
#include "chimera/config/run_config.h"
#include "chimera/plan/planner.h"
#include "chimera/report/svg.h"
#include "chimera/report/text.h"
#include "chimera/schedule/action.h"
#include "chimera/schedule/forms.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/schedule.h"
#include "chimera/schedule/scheme.h"
#include "chimera/schedule/validate.h"
#include "chimera/search/search_order.h"
#include "chimera/simulate/simulate.h"
#include "chimera/trace/trace.h"
