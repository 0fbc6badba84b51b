package hostile

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/diagnose/lint"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/filter/volume"
	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/overhead/runtimeclass"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/planning/packing"
	"github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/taints/edit"
)

// functions are the exported functions of the library. Methods come from the values that functions return and take.
var functions = map[string]any{
	"admission.Admit":                         admission.Admit,
	"admission.LimitHardAntiAffinity":         admission.LimitHardAntiAffinity,
	"admission.GatedCondition":                admission.GatedCondition,
	"admission.ValidateGates":                 admission.ValidateGates,
	"admission.MergeLabelKeys":                admission.MergeLabelKeys,
	"admission.ReconcileAliases":              admission.ReconcileAliases,
	"admission.TopologyLabels":                admission.TopologyLabels,
	"admission.WithLimitRanges":               admission.WithLimitRanges,
	"admission.CheckLimitRanges":              admission.CheckLimitRanges,
	"admission.RestrictNodeCreate":            admission.RestrictNodeCreate,
	"admission.RestrictNodeUpdate":            admission.RestrictNodeUpdate,
	"admission.Bound":                         admission.Bound,
	"admission.WithDefaultSeconds":            admission.WithDefaultSeconds,
	"admission.WithDaemonSet":                 admission.WithDaemonSet,
	"admission.WithMemoryPressure":            admission.WithMemoryPressure,
	"admission.WithExtendedResources":         admission.WithExtendedResources,
	"admission.WithNotReady":                  admission.WithNotReady,
	"admission.Validate":                      admission.Validate,
	"admission.Refusal":                       admission.Refusal,
	"admission.ValidateAffinity":              admission.ValidateAffinity,
	"admission.ValidateBudget":                admission.ValidateBudget,
	"admission.ValidatePod":                   admission.ValidatePod,
	"admission.ValidateTaints":                admission.ValidateTaints,
	"admission.ValidateTolerations":           admission.ValidateTolerations,
	"admission.ValidateTolerationsUpdate":     admission.ValidateTolerationsUpdate,
	"admission.ValidateUpdate":                admission.ValidateUpdate,
	"admission.ValidatePodUpdate":             admission.ValidatePodUpdate,
	"admission.Warnings":                      admission.Warnings,
	"affinity.AppendNodeKey":                  affinity.AppendNodeKey,
	"affinity.AppendPodKey":                   affinity.AppendPodKey,
	"affinity.CompileNode":                    affinity.CompileNode,
	"affinity.CompileAdded":                   affinity.CompileAdded,
	"affinity.CompileRequired":                affinity.CompileRequired,
	"affinity.MatchNode":                      affinity.MatchNode,
	"affinity.CompilePods":                    affinity.CompilePods,
	"affinity.CompileSelector":                affinity.CompileSelector,
	"cluster.New":                             cluster.New,
	"cluster.List":                            cluster.List[*v1.PersistentVolume],
	"cluster.Finished":                        cluster.Finished,
	"devices.NewAllocator":                    devices.NewAllocator,
	"devices.BindingReadiness":                devices.BindingReadiness,
	"devices.Reserved":                        devices.Reserved,
	"devices.Bound":                           devices.Bound,
	"devices.Unreserved":                      devices.Unreserved,
	"devices.Deallocated":                     devices.Deallocated,
	"devices.Abandoned":                       devices.Abandoned,
	"devices.PodClaims":                       devices.PodClaims,
	"devices.ClaimFromTemplate":               devices.ClaimFromTemplate,
	"devices.NewExtendedResources":            devices.NewExtendedResources,
	"devices.ClaimHint":                       devices.ClaimHint,
	"devices.PodHint":                         devices.PodHint,
	"devices.NewInventory":                    devices.NewInventory,
	"devices.AppendKey":                       devices.AppendKey,
	"devices.NewLedger":                       devices.NewLedger,
	"devices.Gate":                            devices.Gate,
	"devices.Compile":                         devices.Compile,
	"devices/tracker.Of":                      tracker.Of,
	"devices/tracker.New":                     tracker.New,
	"diagnose.DefaultCost":                    diagnose.DefaultCost,
	"diagnose.Compare":                        diagnose.Compare,
	"diagnose.ApplyFlip":                      diagnose.ApplyFlip,
	"diagnose.Obstacles":                      diagnose.Obstacles,
	"diagnose.Relax":                          diagnose.Relax,
	"diagnose.Apply":                          diagnose.Apply,
	"diagnose.Wake":                           diagnose.Wake,
	"diagnose/lint.Rules":                     lint.Rules,
	"diagnose/lint.Check":                     lint.Check,
	"eviction/disruption.BudgetRefuses":       disruption.BudgetRefuses,
	"eviction/disruption.NewBudgets":          disruption.NewBudgets,
	"eviction/disruption.Decide":              disruption.Decide,
	"eviction/disruption.Select":              disruption.Select,
	"eviction/disruption.NewEvictions":        disruption.NewEvictions,
	"eviction/disruption.MakePlan":            disruption.MakePlan,
	"eviction/disruption.Proof":               disruption.Proof,
	"eviction/disruption.React":               disruption.React,
	"eviction/disruption.NewScale":            disruption.NewScale,
	"eviction/disruption.Sync":                disruption.Sync,
	"eviction/disruption.StaleTarget":         disruption.StaleTarget,
	"eviction/disruption.SelectorFromV1beta1": disruption.SelectorFromV1beta1,
	"eviction/pressure.Admit":                 pressure.Admit,
	"eviction/pressure.Default":               pressure.Default,
	"eviction/pressure.ParseThresholds":       pressure.ParseThresholds,
	"eviction/pressure.ParseSettings":         pressure.ParseSettings,
	"eviction/pressure.CriticalVictims":       pressure.CriticalVictims,
	"eviction/pressure.Compile":               pressure.Compile,
	"eviction/pressure.Rank":                  pressure.Rank,
	"eviction/pressure.Signals":               pressure.Signals,
	"eviction/pressure.Measure":               pressure.Measure,
	"eviction/pressure.CgroupMemory":          pressure.CgroupMemory,
	"eviction/pressure.Processes":             pressure.Processes,
	"eviction/pressure.DetectLayout":          pressure.DetectLayout,
	"eviction/pressure.Reclaims":              pressure.Reclaims,
	"eviction/taint.ValidateEvents":           taint.ValidateEvents,
	"eviction/taint.Forecast":                 taint.Forecast,
	"eviction/taint.NewTimers":                taint.NewTimers,
	"filter.RequiredFeatures":                 filter.RequiredFeatures,
	"filter.CompileFeatures":                  filter.CompileFeatures,
	"filter.CompileFit":                       filter.CompileFit,
	"filter.Fits":                             filter.Fits,
	"filter.Lacks":                            filter.Lacks,
	"filter.Gated":                            filter.Gated,
	"filter.FitHint":                          filter.FitHint,
	"filter.PortsWouldHelp":                   filter.PortsWouldHelp,
	"filter.NodeNameWouldHelp":                filter.NodeNameWouldHelp,
	"filter.FeaturesWouldHelp":                filter.FeaturesWouldHelp,
	"filter.AppendNodeNameKey":                filter.AppendNodeNameKey,
	"filter.AppendPortsKey":                   filter.AppendPortsKey,
	"filter.AppendFeaturesKey":                filter.AppendFeaturesKey,
	"filter.Cut":                              filter.Cut,
	"filter.CompileNodeName":                  filter.CompileNodeName,
	"filter.CompilePorts":                     filter.CompilePorts,
	"filter.Nominated":                        filter.Nominated,
	"filter.NumToFind":                        filter.NumToFind,
	"filter.ValidatePercentage":               filter.ValidatePercentage,
	"filter.ScanOrder":                        filter.ScanOrder,
	"filter/volume.Compile":                   volume.Compile,
	"filter/volume.RestrictionsWouldHelp":     volume.RestrictionsWouldHelp,
	"filter/volume.LimitsWouldHelp":           volume.LimitsWouldHelp,
	"filter/volume.BindingWouldHelp":          volume.BindingWouldHelp,
	"filter/volume.ZoneWouldHelp":             volume.ZoneWouldHelp,
	"filter/volume.Ignores":                   volume.Ignores,
	"filter/volume.AppendKey":                 volume.AppendKey,
	"filter/volume.NewLedger":                 volume.NewLedger,
	"filter/volume.List":                      volume.List[*v1.PersistentVolumeClaim],
	"filter/volume.NewUsage":                  volume.NewUsage,
	"history.NodePreferAvoidPods":             history.NodePreferAvoidPods,
	"history.AbsoluteBalance":                 history.AbsoluteBalance,
	"history.Difference":                      history.Difference,
	"history.VolumeVariance":                  history.VolumeVariance,
	"history.FindOldFilter":                   history.FindOldFilter,
	"history.ReplacedKubeletFlags":            history.ReplacedKubeletFlags,
	"history.Reservoir":                       history.Reservoir,
	"history.Profile118":                      history.Profile118,
	"history.Events128":                       history.Events128,
	"history.UnregisteredEvents128":           history.UnregisteredEvents128,
	"history.Registrations128":                history.Registrations128,
	"history.Registrations124":                history.Registrations124,
	"history.NumToFind115":                    history.NumToFind115,
	"history.FreeShare":                       history.FreeShare,
	"history.ZeroToTen":                       history.ZeroToTen,
	"history.SelectorSpread":                  history.SelectorSpread,
	"history.SpreadFields":                    history.SpreadFields,
	"overhead.Allocatable":                    overhead.Allocatable,
	"overhead.Default":                        overhead.Default,
	"overhead.DescribeResources":              overhead.DescribeResources,
	"overhead.DescribePods":                   overhead.DescribePods,
	"overhead.Explain":                        overhead.Explain,
	"overhead.AppendKey":                      overhead.AppendKey,
	"overhead.Limits":                         overhead.Limits,
	"overhead.Requests":                       overhead.Requests,
	"overhead.IsSidecar":                      overhead.IsSidecar,
	"overhead.PodLevelSupported":              overhead.PodLevelSupported,
	"overhead.ValidateQuantities":             overhead.ValidateQuantities,
	"overhead.Each":                           overhead.Each,
	"overhead.AppendRequests":                 overhead.AppendRequests,
	"overhead.NonZero":                        overhead.NonZero,
	"overhead.NonZeroIncoming":                overhead.NonZeroIncoming,
	"overhead/kubelet.PodCgroup":              kubelet.PodCgroup,
	"overhead/kubelet.Sandbox":                kubelet.Sandbox,
	"overhead/kubelet.OOMScoreAdj":            kubelet.OOMScoreAdj,
	"overhead/kubelet.OOMOrder":               kubelet.OOMOrder,
	"overhead/kubelet.QoS":                    kubelet.QoS,
	"overhead/quota.Usage":                    quota.Usage,
	"overhead/quota.Check":                    quota.Check,
	"overhead/runtimeclass.Admit":             runtimeclass.Admit,
	"overhead/runtimeclass.ValidateUpdate":    runtimeclass.ValidateUpdate,
	"overhead/runtimeclass.ValidateOverhead":  runtimeclass.ValidateOverhead,
	"placement.NewPlacer":                     placement.NewPlacer,
	"placement.New":                           placement.New,
	"placement.AllNodes":                      placement.AllNodes,
	"placement.DefaultProfile":                placement.DefaultProfile,
	"placement.Rows":                          placement.Rows,
	"placement.NewVolumes":                    placement.NewVolumes,
	"planning/consolidation.New":              consolidation.New,
	"planning/consolidation.HeldByAnnotation": consolidation.HeldByAnnotation,
	"planning/failures.New":                   failures.New,
	"planning/failures.Worst":                 failures.Worst,
	"planning/packing.Pack":                   packing.Pack,
	"planning/rollout.New":                    rollout.New,
	"planning/workload.Make":                  workload.Make,
	"preemption.NewIndex":                     preemption.NewIndex,
	"preemption.Preempt":                      preemption.Preempt,
	"preemption.Priority":                     preemption.Priority,
	"preemption.SystemPriorityClasses":        preemption.SystemPriorityClasses,
	"preemption.AdmitPriority":                preemption.AdmitPriority,
	"preemption.AdmitPriorityUpdate":          preemption.AdmitPriorityUpdate,
	"preemption.ValidatePriorityClass":        preemption.ValidatePriorityClass,
	"preemption.AdmitPriorityClass":           preemption.AdmitPriorityClass,
	"preemption/optimal.NewComeback":          optimal.NewComeback,
	"preemption/optimal.DefaultOrder":         optimal.DefaultOrder,
	"preemption/optimal.Compare":              optimal.Compare,
	"preemption/optimal.PlaceGang":            optimal.PlaceGang,
	"preemption/optimal.Quorums":              optimal.Quorums,
	"preemption/optimal.Majority":             optimal.Majority,
	"preemption/optimal.New":                  optimal.New,
	"queue.PriorityLess":                      queue.PriorityLess,
	"queue.Counted":                           queue.Counted,
	"queue.SchedulingGates":                   queue.SchedulingGates,
	"queue.New":                               queue.New,
	"queue.DefaultEvents":                     queue.DefaultEvents,
	"queue.UnregisteredEvents":                queue.UnregisteredEvents,
	"queue.PodUpdateEvents":                   queue.PodUpdateEvents,
	"queue.NodeUpdateEvents":                  queue.NodeUpdateEvents,
	"release.Between":                         release.Between,
	"release.Areas":                           release.Areas,
	"release.Differences":                     release.Differences,
	"release.Versions":                        release.Versions,
	"release.Parse":                           release.Parse,
	"resources.Add":                           resources.Add,
	"resources.Value":                         resources.Value,
	"resources.IsExtended":                    resources.IsExtended,
	"resources.IsScalar":                      resources.IsScalar,
	"resources.FromList":                      resources.FromList,
	"score.CompileAllocation":                 score.CompileAllocation,
	"score.CompileBalance":                    score.CompileBalance,
	"score.Best":                              score.Best,
	"score.Explain":                           score.Explain,
	"score.CompileImages":                     score.CompileImages,
	"score.NormalizeImage":                    score.NormalizeImage,
	"score.AppendImagesKey":                   score.AppendImagesKey,
	"score.Totals":                            score.Totals,
	"score.ValidateFitArgs":                   score.ValidateFitArgs,
	"score.ValidateBalanceArgs":               score.ValidateBalanceArgs,
	"spread.CheckGroup":                       spread.CheckGroup,
	"spread.OwnerSelector":                    spread.OwnerSelector,
	"spread.CompileHard":                      spread.CompileHard,
	"spread.Check":                            spread.Check,
	"spread.Hint":                             spread.Hint,
	"spread.AppendKey":                        spread.AppendKey,
	"spread.CompileSoft":                      spread.CompileSoft,
	"spread.Normalize":                        spread.Normalize,
	"spread.Scores":                           spread.Scores,
	"spread.Validate":                         spread.Validate,
	"spread.Warnings":                         spread.Warnings,
	"spread.MergeMatchLabelKeys":              spread.MergeMatchLabelKeys,
	"spread.ValidateDefaults":                 spread.ValidateDefaults,
	"taints.Untolerated":                      taints.Untolerated,
	"taints.Compile":                          taints.Compile,
	"taints.AppendKey":                        taints.AppendKey,
	"taints.Matches":                          taints.Matches,
	"taints.MergeTolerations":                 taints.MergeTolerations,
	"taints/edit.MirrorConditions":            edit.MirrorConditions,
	"taints/edit.Ready":                       edit.Ready,
	"taints/edit.Health":                      edit.Health,
	"taints/edit.ParseOne":                    edit.ParseOne,
	"taints/edit.Parse":                       edit.Parse,
	"taints/edit.AddOrUpdate":                 edit.AddOrUpdate,
	"taints/edit.Remove":                      edit.Remove,
}

var names = slices.Sorted(maps.Keys(functions))

const (
	object = "objects must not be nil"
	noSlot = "a slot is a number from 0 to Len()-1 of the cluster"
)

// mayPanic are calls that panic as their comments say, with the reason.
var mayPanic = map[string]string{
	"cluster.Snapshot.TermSet":          "an id is one of TermSets",
	"cluster.Snapshot.PodSet":           "an id is one that PodSets yields",
	"resources.Vector.Add":              "the other vector is not longer",
	"resources.Vector.Sub":              "the other vector is not longer",
	"resources.Vector.Describe":         "a vector belongs to its schema",
	"history.Scorer.Raw":                "a scorer is one that the package returns",
	"eviction/disruption.Ledger.Take":   "ids are those of Budgets.AppendMatches",
	"preemption/optimal.searcher.Solve": "a problem is one that package preemption makes",
}

// mayChange are calls that change an argument as their comments say.
var mayChange = map[string]string{
	"resources.Vector.Add":    "a vector may be added to itself",
	"resources.Vector.Sub":    "a vector may be taken from itself",
	"planning/failures.Worst": "sorts the results",
}

// mayDiffer are calls whose result follows an order that one of the worlds turns round.
var mayDiffer = map[string]string{
	"planning/rollout.New": "the error is that of the first object",
}

// notCalled are functions and methods that this test does not call, with the reason.
var notCalled = map[string]string{}
