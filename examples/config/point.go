package config

// Point is an extension point of the scheduling framework that lists plugins.
type Point int

// The extension points, in the order in which kube-scheduler goes through their lists when it starts. It is the order in
// which errors are found.
const (
	PreFilter Point = iota
	Filter
	PostFilter
	Reserve
	PreScore
	Score
	PreBind
	Bind
	PostBind
	Permit
	PreEnqueue
	QueueSort
	PlacementGenerate
	PlacementScore
	points // how many there are
)

var pointNames = [points]string{
	"PreFilter", "Filter", "PostFilter", "Reserve", "PreScore", "Score", "PreBind", "Bind", "PostBind", "Permit",
	"PreEnqueue", "QueueSort", "PlacementGenerate", "PlacementScore",
}

// Points returns all extension points.
func Points() []Point {
	list := make([]Point, points)
	for k := range list {
		list[k] = Point(k)
	}
	return list
}

// String returns the point's name, such as "PreFilter".
func (p Point) String() string {
	if p < 0 || p >= points {
		return "unknown"
	}
	return pointNames[p]
}

// inTree are the plugins that kube-scheduler v1.36 brings along, with the points that each takes part in. Those that no
// default profile has come last.
var inTree = map[string][]Point{
	"SchedulingGates":                 {PreEnqueue},
	"PrioritySort":                    {QueueSort},
	"NodeUnschedulable":               {Filter},
	"NodeName":                        {Filter},
	"TaintToleration":                 {Filter, PreScore, Score},
	"NodeAffinity":                    {PreFilter, Filter, PreScore, Score},
	"NodePorts":                       {PreFilter, Filter},
	"NodeResourcesFit":                {PreFilter, Filter, PreScore, Score, PlacementScore},
	"VolumeRestrictions":              {PreFilter, Filter},
	"NodeVolumeLimits":                {PreFilter, Filter},
	"VolumeBinding":                   {PreFilter, Filter, Reserve, PreBind, PreScore, Score},
	"VolumeZone":                      {PreFilter, Filter},
	"PodTopologySpread":               {PreFilter, Filter, PreScore, Score},
	"InterPodAffinity":                {PreFilter, Filter, PreScore, Score},
	"DynamicResources":                {PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind},
	"DefaultPreemption":               {PostFilter, PreEnqueue},
	"NodeResourcesBalancedAllocation": {PreScore, Score},
	"ImageLocality":                   {Score},
	"DefaultBinder":                   {Bind},
	"NodeDeclaredFeatures":            {PreFilter, Filter},

	"GangScheduling":             {PreEnqueue, Permit},
	"PodGroupPodsCount":          {PlacementScore},
	"TopologyPlacementGenerator": {PlacementGenerate},
}
