package podinfo

import v1 "k8s.io/api/core/v1"

// GeneralLabels has the names that beta labels of nodes have now.
var GeneralLabels = map[string]string{
	v1.LabelFailureDomainBetaZone: v1.LabelTopologyZone, v1.LabelFailureDomainBetaRegion: v1.LabelTopologyRegion,
	v1.LabelInstanceType: v1.LabelInstanceTypeStable, "beta.kubernetes.io/os": v1.LabelOSStable, "beta.kubernetes.io/arch": v1.LabelArchStable,
}
