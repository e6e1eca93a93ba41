export { projectsQuery } from '@/parts/capsules/projects'
